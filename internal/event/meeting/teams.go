package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Teams returns the provider of Microsoft Teams, whose transcripts Microsoft Graph notifies of.
func Teams(d Deps) event.Provider {
	d = d.withDefaults()
	return event.Provider{
		Family: event.Meetings, Name: "teams", Title: "Microsoft Teams", Description: "Transcripts of meetings.",
		Documentation: "https://learn.microsoft.com/en-us/graph/teams-changenotifications-callrecording-and-calltranscript",
		Options: []connectors.Option{
			{Name: "tenant_id", Title: "Tenant id", Type: connectors.TypeString, Required: true, Help: "The id of the directory. It finds the integration for deliveries to the address without an id.",
				Check: func(v any) error {
					if text, _ := v.(string); !tenantID.MatchString(text) {
						return errors.New("must be a directory id or one of its domains")
					}
					return nil
				}},
			{Name: "client_id", Title: "Application id", Type: connectors.TypeString, Help: "Of an app registration with the application permissions OnlineMeetingTranscript.Read.All and OnlineMeetings.Read.All, and an application access policy."},
			collection(),
		},
		Credentials: []connectors.Option{
			{Name: secretName, Title: "Client state", Type: connectors.TypeString, Sensitive: true, Help: "The clientState of the subscription. Leave it empty to have one made.",
				Check: func(v any) error {
					if text, _ := v.(string); len(text) > maxClientState {
						return fmt.Errorf("must have at most %d characters", maxClientState)
					}
					return nil
				}},
			{Name: "client_secret", Title: "Client secret", Type: connectors.TypeString, Sensitive: true, Help: "Of the app registration, to read transcripts and to keep the subscription."},
		},
		Secret: secretName, Generated: true,
		Hint: "With an application id and a client secret, Magpie makes the subscription in Microsoft Graph and renews it. Without them: create one for the resource " + teamsResource + ", changeType created, notificationUrl and lifecycleNotificationUrl the address, clientState the secret, without resource data, and renew it before it expires.",
		Keys: func(s connectors.Settings) []string { return lower(s.String("tenant_id")) },
		Route: func(r *event.Request) ([]string, error) {
			all, err := readTeams(r.Body)
			if err != nil {
				return nil, err
			}
			return lower(all[0].TenantID), nil
		},
		Open: func(r *event.Request) (event.Answer, bool) {
			token := r.Query.Get("validationToken")
			if token == "" || len(token) > 4096 {
				return event.Answer{}, false
			}
			// Anybody may send one, so that it must not be taken for markup.
			text := strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(token)
			return event.Answer{ContentType: "text/plain; charset=utf-8", Body: []byte(text)}, true
		},
		Verify: func(_ context.Context, r *event.Request, _ connectors.Settings, secret string, _ time.Time) error {
			all, err := readTeams(r.Body)
			if err != nil {
				return event.Refuse("the request is no notification of Microsoft Graph")
			}
			for _, n := range all {
				if !event.Same(n.ClientState, secret) {
					return event.Refuse("the clientState does not match")
				}
			}
			return nil
		},
		Receive: receiveTeams,
		Read: func(p event.Payload) (event.Content, error) {
			var n notification
			if json.Unmarshal(p.Body, &n) != nil {
				return event.Content{}, event.ErrDelivery
			}
			return event.Content{Meeting: n.meeting()}, nil
		},
		Transcript: func(ctx context.Context, m *event.Meeting, s connectors.Settings) (event.Transcript, error) {
			return fetchTeams(ctx, d, m, s)
		},
		Subscriber: teamsSubscriber(d),
		Probe: func(ctx context.Context, s connectors.Settings) error {
			if s.Credentials["client_secret"] == "" {
				return nil
			}
			_, err := graphToken(ctx, d, s)
			return err
		},
	}
}

var tenantID = regexp.MustCompile(`^[A-Za-z0-9.-]{1,100}$`)

type notification struct {
	SubscriptionID string `json:"subscriptionId"`
	ClientState    string `json:"clientState,omitempty"`
	ChangeType     string `json:"changeType"`
	LifecycleEvent string `json:"lifecycleEvent,omitempty"`
	Resource       string `json:"resource"`
	TenantID       string `json:"tenantId"`
}

const maxNotifications = 1000

func readTeams(body []byte) ([]notification, error) {
	var d struct {
		Value []notification `json:"value"`
	}
	if json.Unmarshal(body, &d) != nil || len(d.Value) == 0 || len(d.Value) > maxNotifications {
		return nil, event.ErrDelivery
	}
	return d.Value, nil
}

func receiveTeams(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
	all, err := readTeams(r.Body)
	if err != nil {
		return event.Delivery{}, err
	}
	var d event.Delivery
	for _, n := range all {
		n.ClientState = "" // it is not kept
		switch n.LifecycleEvent {
		case "":
		case "subscriptionRemoved":
			d.Notices = append(d.Notices, event.Notice{Subscription: n.SubscriptionID, Lost: true, Failing: "Microsoft Graph has removed the subscription; create it again"})
			continue
		case "reauthorizationRequired":
			d.Notices = append(d.Notices, event.Notice{Subscription: n.SubscriptionID, Failing: "Microsoft Graph asks for a renewal of the subscription: reauthorizationRequired"})
			continue
		case "missed":
			d.Failing = "Microsoft Graph could not deliver all notifications: transcripts may be missing"
			continue
		default:
			d.Failing = "Microsoft Graph asks for attention: " + safetext.Line(n.LifecycleEvent)
			continue
		}
		body, err := json.Marshal(n)
		if err != nil {
			return event.Delivery{}, event.ErrDelivery
		}
		typ := "transcript." + n.ChangeType
		d.Events = append(d.Events, event.Event{ID: n.ChangeType + " " + n.Resource, Type: typ, Summary: summary(typ+":", n.Resource), Body: body})
	}
	return d, nil
}

// graphResource matches the name of a transcript; its first group is the meeting.
var graphResource = regexp.MustCompile(`^(?:/)?((?:users\('[A-Za-z0-9-]{1,100}'\)/|users/[A-Za-z0-9-]{1,100}/|communications/)onlineMeetings(?:\('[A-Za-z0-9_=-]{1,500}'\)|/[A-Za-z0-9_=-]{1,500}))/transcripts(?:\('[A-Za-z0-9_=-]{1,500}'\)|/[A-Za-z0-9_=-]{1,500})$`)

func (n notification) meeting() *event.Meeting {
	m := &event.Meeting{ID: n.Resource}
	if found := graphResource.FindStringSubmatch(n.Resource); found != nil {
		m.ID = found[1]
		if n.ChangeType == "created" {
			m.Transcript = &event.TranscriptSource{ID: strings.TrimPrefix(n.Resource, "/")}
		}
	}
	return m
}

func graphToken(ctx context.Context, d Deps, s connectors.Settings) (string, error) {
	if s.String("client_id") == "" || s.Credentials["client_secret"] == "" {
		return "", event.Refuse("the integration has no application id and client secret to read transcripts with")
	}
	return requestToken(ctx, d.Client, d.MicrosoftLogin+"/"+url.PathEscape(s.String("tenant_id"))+"/oauth2/v2.0/token", "", url.Values{
		"grant_type": {"client_credentials"}, "scope": {"https://graph.microsoft.com/.default"}, "client_id": {s.String("client_id")}, "client_secret": {s.Credentials["client_secret"]},
	})
}

type graphParticipant struct {
	UPN      string `json:"upn"`
	Identity struct {
		User struct {
			DisplayName string `json:"displayName"`
		} `json:"user"`
	} `json:"identity"`
}

func fetchTeams(ctx context.Context, d Deps, m *event.Meeting, s connectors.Settings) (event.Transcript, error) {
	token, err := graphToken(ctx, d, s)
	if err != nil {
		return event.Transcript{}, err
	}
	var row struct {
		Subject      string    `json:"subject"`
		Start        time.Time `json:"startDateTime"`
		Participants struct {
			Organizer graphParticipant   `json:"organizer"`
			Attendees []graphParticipant `json:"attendees"`
		} `json:"participants"`
	}
	if err := callJSON(ctx, d.Client, d.Graph+"/"+m.ID, token, &row); err != nil {
		return event.Transcript{}, err
	}
	body, err := call(ctx, d.Client, http.MethodGet, d.Graph+"/"+m.Transcript.ID+"/content?$format=text/vtt", token, nil)
	if err != nil {
		return event.Transcript{}, err
	}
	turns, err := ReadVTT(string(body))
	if err != nil {
		return event.Transcript{}, err
	}
	t := event.Transcript{Markdown: Render(turns), Topic: safetext.Line(row.Subject), Start: row.Start.UTC()}
	for _, p := range append([]graphParticipant{row.Participants.Organizer}, row.Participants.Attendees...) {
		t.Attendees = addAttendee(t.Attendees, event.Attendee{Name: p.Identity.User.DisplayName, Email: p.UPN})
	}
	if t.Markdown == "" {
		return t, event.Refuse("the transcript is empty")
	}
	return t, nil
}
