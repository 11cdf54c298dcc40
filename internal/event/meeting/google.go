package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	scopeMeet  = "https://www.googleapis.com/auth/meetings.space.readonly"
	scopeUsers = "https://www.googleapis.com/auth/admin.directory.user.readonly"

	googleIssuer = "https://accounts.google.com"
)

// GoogleMeet returns the provider of Google Meet, whose events a Pub/Sub subscription pushes.
func GoogleMeet(d Deps) event.Provider {
	d = d.withDefaults()
	ctx := oidc.ClientContext(context.Background(), d.Client) //nolint:contextcheck // of the key set, which outlives requests
	keys := oidc.NewRemoteKeySet(ctx, d.GoogleKeys)
	return event.Provider{
		Family: event.Meetings, Name: "google_meet", Title: "Google Meet", Description: "Ended conferences and transcripts.",
		Documentation: "https://developers.google.com/workspace/events/guides/events-meet",
		Options: []connectors.Option{
			{Name: "service_account", Title: "Service account", Type: connectors.TypeString, Format: connectors.FormatEmail, Required: true, Example: "push@project.iam.gserviceaccount.com",
				Help: "The service account that the push subscription authenticates as."},
			{Name: "subscription", Title: "Subscription", Type: connectors.TypeString, Example: "projects/acme/subscriptions/meet",
				Help: "The name of the Pub/Sub subscription. It finds the integration for deliveries to the address without an id, and others are refused."},
			{Name: "audience", Title: "Audience", Type: connectors.TypeString, Help: "The audience of the push subscription, if it is not the address."},
			{Name: topicName, Title: "Topic", Type: connectors.TypeString, Example: "projects/acme/topics/meet",
				Help: "The Pub/Sub topic of the push subscription, at which meet-api-event-push@system.gserviceaccount.com may publish. With it, a key and a user, Magpie keeps the subscription of Google Workspace Events to the user's meetings.",
				Check: func(v any) error {
					if text, _ := v.(string); !pubsubTopic.MatchString(text) {
						return errors.New("must be the name of a topic, such as projects/acme/topics/meet")
					}
					return nil
				}},
			{Name: "impersonate", Title: "User", Type: connectors.TypeString, Format: connectors.FormatEmail, Help: "The user as whom transcripts and addresses of attendees are read, by domain-wide delegation."},
			collection(),
		},
		Credentials: []connectors.Option{{
			Name: "key", Title: "Key of a service account", Type: connectors.TypeString, Sensitive: true, Multiline: true,
			Help:  "The JSON key file of a service account with domain-wide delegation for the scopes " + scopeMeet + " and " + scopeUsers + ".",
			Check: func(v any) error { text, _ := v.(string); _, err := parseAccount(text); return err },
		}},
		Hint: "In Google Cloud: a Pub/Sub topic for Google Workspace Events, and a push subscription to the address with authentication by a service account. With a topic, a key and a user, Magpie subscribes to the user's meetings with the Workspace Events API and renews that subscription. Without them: subscribe to " + meetEnded + " and " + meetTranscript + ", and renew it.",
		Keys: func(s connectors.Settings) []string { return lower(s.String("subscription")) },
		Route: func(r *event.Request) ([]string, error) {
			p, err := readPush(r.Body)
			if err != nil {
				return nil, err
			}
			return lower(p.Subscription), nil
		},
		Verify: func(ctx context.Context, r *event.Request, s connectors.Settings, _ string, now time.Time) error {
			return verifyGoogle(ctx, keys, r, s, now)
		},
		Receive: func(_ context.Context, r *event.Request, s connectors.Settings, _ string) (event.Delivery, error) {
			p, err := readPush(r.Body)
			if err != nil {
				return event.Delivery{}, err
			}
			if own := s.String("subscription"); own != "" && own != p.Subscription {
				return event.Delivery{}, event.Refuse("the message is of another subscription")
			}
			if notice, ok := p.notice(); ok {
				return event.Delivery{Notices: []event.Notice{notice}}, nil
			}
			typ := p.typ()
			if typ == "" {
				return event.Delivery{}, nil // a test message
			}
			at, _ := time.Parse(time.RFC3339, p.Message.PublishTime)
			return event.Delivery{Events: []event.Event{{ID: p.Message.ID, Type: typ, At: at, Summary: summary(typ+":", p.resource())}}}, nil
		},
		Read: func(p event.Payload) (event.Content, error) {
			push, err := readPush(p.Body)
			if err != nil {
				return event.Content{}, err
			}
			return event.Content{Meeting: push.meeting()}, nil
		},
		Transcript: func(ctx context.Context, m *event.Meeting, s connectors.Settings) (event.Transcript, error) {
			return fetchGoogle(ctx, d, m, s)
		},
		Subscriber: googleSubscriber(d),
		Probe: func(ctx context.Context, s connectors.Settings) error {
			if s.Credentials["key"] == "" {
				return nil
			}
			_, err := googleToken(ctx, d, s)
			return err
		},
	}
}

type pushMessage struct {
	Subscription string `json:"subscription"`
	Message      *struct {
		ID          string            `json:"messageId"`
		PublishTime string            `json:"publishTime"`
		Data        []byte            `json:"data"`
		Attributes  map[string]string `json:"attributes"`
	} `json:"message"`
}

func readPush(body []byte) (pushMessage, error) {
	var p pushMessage
	if json.Unmarshal(body, &p) != nil || p.Message == nil || p.Message.ID == "" || p.Subscription == "" {
		return p, event.ErrDelivery
	}
	return p, nil
}

// typ returns the type of the event, such as meet.transcript.v2.fileGenerated; empty for a
// message that is about no meeting.
func (p pushMessage) typ() string {
	name, ok := strings.CutPrefix(p.Message.Attributes["ce-type"], "google.workspace.")
	if !ok || !strings.HasPrefix(name, "meet.") {
		return ""
	}
	return safetext.TruncateBytes(safetext.Line(name), 200)
}

// resource returns the name of the transcript or conference; empty if it is malformed.
func (p pushMessage) resource() string {
	var data struct {
		Transcript       struct{ Name string } `json:"transcript"`
		ConferenceRecord struct{ Name string } `json:"conferenceRecord"`
	}
	_ = json.Unmarshal(p.Message.Data, &data)
	for _, name := range []string{data.Transcript.Name, data.ConferenceRecord.Name} {
		if meetName.MatchString(name) {
			return name
		}
	}
	return ""
}

// meetName matches the names of transcripts and conferences; its first group is the conference.
var meetName = regexp.MustCompile(`^(conferenceRecords/[A-Za-z0-9_-]{1,200})(/transcripts/[A-Za-z0-9_-]{1,200})?$`)

func (p pushMessage) meeting() *event.Meeting {
	name := p.resource()
	m := &event.Meeting{ID: name}
	if found := meetName.FindStringSubmatch(name); found != nil {
		m.ID = found[1]
		if found[2] != "" && strings.HasSuffix(p.typ(), "transcript.v2.fileGenerated") {
			m.Transcript = &event.TranscriptSource{ID: name}
		}
	}
	return m
}

// verifyGoogle checks the token of a push subscription.
func verifyGoogle(ctx context.Context, keys oidc.KeySet, r *event.Request, s connectors.Settings, now time.Time) error {
	raw := event.Bearer(r.Header)
	if raw == "" {
		return event.Refuse("the token is missing")
	}
	verifier := oidc.NewVerifier(googleIssuer, keys, &oidc.Config{SkipClientIDCheck: true, SkipExpiryCheck: true, SupportedSigningAlgs: []string{oidc.RS256}})
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		if strings.Contains(err.Error(), "fetching keys") {
			return errors.Join(errKeys, err)
		}
		return event.Refuse("the token is not one of Google")
	}
	audience := s.String("audience")
	if audience == "" {
		audience, _, _ = strings.Cut(r.URL, "?")
	}
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
	}
	switch err := token.Claims(&claims); {
	case err != nil:
		return event.Refuse("the token is malformed")
	case len(token.Audience) != 1 || token.Audience[0] != audience && token.Audience[0] != r.URL:
		return event.Refuse("the token is for another audience")
	case !claims.Verified || !event.Same(strings.ToLower(claims.Email), strings.ToLower(s.String("service_account"))):
		return event.Refuse("the token is of another service account")
	}
	if now.After(token.Expiry) || now.Before(token.IssuedAt.Add(-event.Window)) {
		return &event.Refusal{Reason: "timestamp: the token has expired, or is not valid yet by the clock of this server", Stale: true}
	}
	return nil
}

var errKeys = errors.New("the keys of Google could not be read")

// account is the key of a service account.
type account struct {
	Type        string `json:"type"`
	ClientEmail string `json:"client_email"`
	PrivateKey  string `json:"private_key"`
	KeyID       string `json:"private_key_id"`
}

func parseAccount(text string) (account, error) {
	var a account
	if json.Unmarshal([]byte(text), &a) != nil || a.ClientEmail == "" || a.PrivateKey == "" {
		return a, errors.New("is no key of a service account; paste the whole JSON file that Google gave")
	}
	if _, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(a.PrivateKey)); err != nil {
		return a, errors.New("has a private_key that is no RSA key in PEM")
	}
	return a, nil
}

func googleToken(ctx context.Context, d Deps, s connectors.Settings) (string, error) {
	a, err := parseAccount(s.Credentials["key"])
	if err != nil {
		return "", event.Refuse("the integration has no key of a service account")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(a.PrivateKey))
	if err != nil {
		return "", event.Refuse("the key of the service account is malformed")
	}
	now := d.Now()
	claims := jwt.MapClaims{"iss": a.ClientEmail, "scope": scopeMeet + " " + scopeUsers, "aud": d.GoogleToken, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	if user := s.String("impersonate"); user != "" {
		claims["sub"] = user
	}
	unsigned := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	unsigned.Header["kid"] = a.KeyID
	signed, err := unsigned.SignedString(key)
	if err != nil {
		return "", event.Refuse("the key of the service account is malformed")
	}
	return requestToken(ctx, d.Client, d.GoogleToken, "", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}})
}

type googleParticipant struct {
	Name         string `json:"name"`
	SignedInUser *struct {
		User        string `json:"user"`
		DisplayName string `json:"displayName"`
	} `json:"signedinUser"`
	AnonymousUser *struct {
		DisplayName string `json:"displayName"`
	} `json:"anonymousUser"`
	PhoneUser *struct {
		DisplayName string `json:"displayName"`
	} `json:"phoneUser"`
}

func fetchGoogle(ctx context.Context, d Deps, m *event.Meeting, s connectors.Settings) (event.Transcript, error) {
	token, err := googleToken(ctx, d, s)
	if err != nil {
		return event.Transcript{}, err
	}
	var record struct {
		Start time.Time `json:"startTime"`
	}
	if err := callJSON(ctx, d.Client, d.GoogleMeet+"/"+m.ID, token, &record); err != nil {
		return event.Transcript{}, err
	}
	t := event.Transcript{Topic: "Google Meet, " + record.Start.UTC().Format("2006-01-02 15:04"), Start: record.Start.UTC()}
	names, err := googleParticipants(ctx, d, m.ID, token, &t)
	if err != nil {
		return event.Transcript{}, err
	}
	var turns []Turn
	next := ""
	for range maxPages {
		var page struct {
			Entries []struct {
				Participant string    `json:"participant"`
				Text        string    `json:"text"`
				Start       time.Time `json:"startTime"`
				End         time.Time `json:"endTime"`
			} `json:"transcriptEntries"`
			Next string `json:"nextPageToken"`
		}
		if err := callJSON(ctx, d.Client, d.GoogleMeet+"/"+m.Transcript.ID+"/entries?pageSize=100&pageToken="+url.QueryEscape(next), token, &page); err != nil {
			return event.Transcript{}, err
		}
		for _, e := range page.Entries {
			turns = append(turns, Turn{Speaker: names[e.Participant], At: e.Start.Sub(record.Start), End: e.End.Sub(record.Start), Text: safetext.Line(e.Text)})
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if len(turns) == 0 {
		return event.Transcript{}, event.ErrNotReady
	}
	t.Markdown = Render(turns)
	return t, nil
}

// googleParticipants adds the participants to a transcript, and returns their names.
func googleParticipants(ctx context.Context, d Deps, conference, token string, t *event.Transcript) (map[string]string, error) {
	names := map[string]string{}
	next := ""
	for range maxPages {
		var page struct {
			Participants []googleParticipant `json:"participants"`
			Next         string              `json:"nextPageToken"`
		}
		if err := callJSON(ctx, d.Client, d.GoogleMeet+"/"+conference+"/participants?pageSize=250&pageToken="+url.QueryEscape(next), token, &page); err != nil {
			return nil, err
		}
		for _, p := range page.Participants {
			a := event.Attendee{}
			switch {
			case p.SignedInUser != nil:
				a.Name = p.SignedInUser.DisplayName
				email, err := googleAddress(ctx, d, p.SignedInUser.User, token)
				if err != nil {
					return nil, err
				}
				a.Email = email
			case p.AnonymousUser != nil:
				a.Name = p.AnonymousUser.DisplayName
			case p.PhoneUser != nil:
				a.Name = p.PhoneUser.DisplayName
			}
			names[p.Name] = cleanName(a.Name)
			t.Attendees = addAttendee(t.Attendees, a)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	return names, nil
}

var googleUser = regexp.MustCompile(`^users/([A-Za-z0-9]{1,64})$`)

// googleAddress returns the address of a user of the domain; empty for a guest, whom the
// directory does not have.
func googleAddress(ctx context.Context, d Deps, user, token string) (string, error) {
	found := googleUser.FindStringSubmatch(user)
	if found == nil {
		return "", nil
	}
	var row struct {
		Email string `json:"primaryEmail"`
	}
	body, err := call(ctx, d.Client, http.MethodGet, d.GoogleDirectory+"/users/"+found[1]+"?fields=primaryEmail", token, nil)
	if errors.Is(err, event.ErrNotReady) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if json.Unmarshal(body, &row) != nil {
		return "", nil
	}
	return row.Email, nil
}
