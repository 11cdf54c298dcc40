package meeting

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

const zoomValidation = "endpoint.url_validation"

// Zoom returns the provider of Zoom's webhooks.
func Zoom(d Deps) event.Provider {
	d = d.withDefaults()
	return event.Provider{
		Family: event.Meetings, Name: "zoom", Title: "Zoom", Description: "Ended meetings, transcripts of recordings, summaries.",
		Documentation: "https://developers.zoom.us/docs/api/webhooks/",
		Options: []connectors.Option{
			{Name: "account_id", Title: "Account id", Type: connectors.TypeString, Help: "The id of the Zoom account. It finds the integration for deliveries to the address without an id, and is needed to read the participants."},
			collection(),
		},
		Credentials: []connectors.Option{
			{Name: secretName, Title: "Secret token", Type: connectors.TypeString, Sensitive: true, Help: "The secret token of the app, under Features, Access."},
			{Name: "client_id", Title: "Client id", Type: connectors.TypeString, Help: "Of a server-to-server app, to read the participants of past meetings. Without it, only the host can find a transcript."},
			{Name: "client_secret", Title: "Client secret", Type: connectors.TypeString, Sensitive: true, Help: "Of the server-to-server app."},
		},
		Secret: secretName,
		Hint:   "In the Zoom app: Features, Access. Enter the secret token here first. Then add an event subscription with the address and validate it. Events: meeting ended, recording transcript completed, meeting summary completed.",
		Keys:   func(s connectors.Settings) []string { return lower(s.String("account_id")) },
		Route: func(r *event.Request) ([]string, error) {
			p, err := readZoom(r.Body)
			if err != nil {
				return nil, err
			}
			return lower(p.Payload.AccountID), nil
		},
		IsChallenge: func(r *event.Request) bool {
			p, err := readZoom(r.Body)
			return err == nil && p.Event == zoomValidation
		},
		Verify: verifyZoom, Receive: receiveZoom,
		Read: func(p event.Payload) (event.Content, error) {
			z, err := readZoom(p.Body)
			if err != nil {
				return event.Content{}, err
			}
			return event.Content{Meeting: z.meeting()}, nil
		},
		Transcript: func(ctx context.Context, m *event.Meeting, s connectors.Settings) (event.Transcript, error) {
			return fetchZoom(ctx, d, m, s)
		},
		Probe: func(ctx context.Context, s connectors.Settings) error {
			if s.Credentials["client_id"] == "" {
				return nil
			}
			_, err := zoomToken(ctx, d, s)
			return err
		},
	}
}

// lower returns a name in lower case, or nothing for an empty one.
func lower(text string) []string {
	if text = strings.ToLower(strings.TrimSpace(text)); text == "" || len(text) > 300 {
		return nil
	}
	return []string{text}
}

func verifyZoom(_ context.Context, r *event.Request, _ connectors.Settings, secret string, now time.Time) error {
	text := r.Header.Get("X-Zm-Request-Timestamp")
	if err := event.VerifyHex(r.Header.Get("X-Zm-Signature"), "v0=", secret, []byte("v0:"+text+":"), r.Body); err != nil {
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return event.Refuse("the timestamp of the signature is malformed")
	}
	at := time.Unix(n, 0)
	if n > 1e11 { // milliseconds
		at = time.UnixMilli(n)
	}
	return event.CheckTime(at, now, event.Window)
}

type zoomEvent struct {
	Event         string `json:"event"`
	At            number `json:"event_ts"`
	DownloadToken string `json:"download_token"`
	Payload       struct {
		AccountID     string `json:"account_id"`
		PlainToken    string `json:"plainToken"`
		DownloadToken string `json:"download_token"`
		Object        struct {
			UUID      string    `json:"uuid"`
			ID        number    `json:"id"`
			Topic     string    `json:"topic"`
			HostEmail string    `json:"host_email"`
			Start     time.Time `json:"start_time"`
			End       time.Time `json:"end_time"`
			Duration  int       `json:"duration"`
			ShareURL  string    `json:"share_url"`
			Files     []struct {
				ID          string `json:"id"`
				Type        string `json:"file_type"`
				DownloadURL string `json:"download_url"`
			} `json:"recording_files"`

			// Of a summary.
			MeetingUUID  string    `json:"meeting_uuid"`
			MeetingID    number    `json:"meeting_id"`
			MeetingTopic string    `json:"meeting_topic"`
			MeetingHost  string    `json:"meeting_host_email"`
			MeetingStart time.Time `json:"meeting_start_time"`
			MeetingEnd   time.Time `json:"meeting_end_time"`
			Overview     string    `json:"summary_overview"`
			Content      string    `json:"summary_content"`
			Details      []struct {
				Label   string `json:"label"`
				Summary string `json:"summary"`
			} `json:"summary_details"`
			NextSteps []string `json:"next_steps"`
		} `json:"object"`
	} `json:"payload"`
}

func readZoom(body []byte) (zoomEvent, error) {
	var z zoomEvent
	if json.Unmarshal(body, &z) != nil || z.Event == "" {
		return z, event.ErrDelivery
	}
	return z, nil
}

// plainToken matches the tokens of Zoom. Any other text could be one that Zoom would sign.
var plainToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

func receiveZoom(_ context.Context, r *event.Request, _ connectors.Settings, secret string) (event.Delivery, error) {
	z, err := readZoom(r.Body)
	if err != nil {
		return event.Delivery{}, err
	}
	if z.Event == zoomValidation {
		token := z.Payload.PlainToken
		if !plainToken.MatchString(token) {
			return event.Delivery{}, event.ErrDelivery
		}
		answer, err := json.Marshal(map[string]string{"plainToken": token, "encryptedToken": hex.EncodeToString(event.MAC(secret, []byte(token)))})
		if err != nil {
			return event.Delivery{}, event.ErrDelivery
		}
		return event.Delivery{Answer: &event.Answer{ContentType: "application/json; charset=utf-8", Body: answer}}, nil
	}
	m := z.meeting()
	id := strings.Join([]string{z.Event, m.ID, string(z.At)}, " ")
	return event.Delivery{Events: []event.Event{{ID: id, Type: z.Event, At: unixMilli(z.At), Summary: summary(z.Event+":", m.Topic)}}}, nil
}

func (z zoomEvent) meeting() *event.Meeting {
	o := z.Payload.Object
	m := &event.Meeting{ID: o.UUID, Topic: safetext.Line(o.Topic), Organizer: event.Address{Email: safetext.Line(o.HostEmail)}, Start: o.Start.UTC(), End: o.End.UTC(), URL: o.ShareURL}
	if o.MeetingUUID != "" {
		m.ID, m.Topic, m.Organizer.Email, m.Start, m.End = o.MeetingUUID, safetext.Line(o.MeetingTopic), safetext.Line(o.MeetingHost), o.MeetingStart.UTC(), o.MeetingEnd.UTC()
		var b strings.Builder
		b.WriteString(o.Overview)
		for _, d := range o.Details {
			b.WriteString("\n\n## " + safetext.Line(d.Label) + "\n\n" + d.Summary)
		}
		for _, step := range o.NextSteps {
			b.WriteString("\n- " + safetext.Line(step))
		}
		if m.Summary = strings.TrimSpace(b.String()); m.Summary == "" {
			m.Summary = o.Content
		}
	}
	if m.ID == "" {
		m.ID = string(o.ID)
	}
	if m.End.IsZero() && !m.Start.IsZero() && o.Duration > 0 {
		m.End = m.Start.Add(time.Duration(min(o.Duration, 10_000)) * time.Minute)
	}
	m.Attendees = addAttendee(nil, event.Attendee{Email: m.Organizer.Email})
	if z.Event == "recording.transcript_completed" {
		for _, f := range o.Files {
			if f.Type == "TRANSCRIPT" && f.DownloadURL != "" {
				token := z.DownloadToken
				if token == "" {
					token = z.Payload.DownloadToken
				}
				m.Transcript = &event.TranscriptSource{ID: m.ID, URL: f.DownloadURL, Token: token}
			}
		}
	}
	return m
}

// isZoomHost reports whether a host belongs to Zoom, so that it may get the token.
func isZoomHost(host string) bool {
	for _, domain := range []string{"zoom.us", "zoom.com", "zoomgov.com"} {
		if host == domain || strings.HasSuffix(host, "."+domain) {
			return true
		}
	}
	return false
}

func fetchZoom(ctx context.Context, d Deps, m *event.Meeting, s connectors.Settings) (event.Transcript, error) {
	u, err := url.Parse(m.Transcript.URL)
	if err != nil || u.Scheme != "https" || !isZoomHost(u.Hostname()) {
		return event.Transcript{}, event.Refuse("the address of the transcript is not one of Zoom")
	}
	body, err := call(ctx, d.Client, http.MethodGet, u.String(), "Bearer "+m.Transcript.Token, nil)
	if err != nil {
		return event.Transcript{}, err
	}
	turns, err := ReadVTT(string(body))
	if err != nil {
		return event.Transcript{}, err
	}
	t := event.Transcript{Markdown: Render(turns), Attendees: m.Attendees, Topic: m.Topic, Start: m.Start}
	if t.Markdown == "" {
		return t, event.Refuse("the transcript is empty")
	}
	if s.Credentials["client_id"] == "" {
		return t, nil
	}
	participants, err := zoomParticipants(ctx, d, m.ID, s)
	if err != nil && !errors.Is(err, event.ErrNotReady) {
		return event.Transcript{}, err
	}
	for _, a := range participants {
		t.Attendees = addAttendee(t.Attendees, a)
	}
	return t, nil
}

func zoomToken(ctx context.Context, d Deps, s connectors.Settings) (string, error) {
	if s.String("account_id") == "" {
		return "", event.Refuse("the account id is missing, which the client id needs")
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(s.Credentials["client_id"]+":"+s.Credentials["client_secret"]))
	return requestToken(ctx, d.Client, d.ZoomLogin+"/oauth/token", basic, url.Values{"grant_type": {"account_credentials"}, "account_id": {s.String("account_id")}})
}

// zoomParticipants returns the participants of a past meeting.
func zoomParticipants(ctx context.Context, d Deps, meeting string, s connectors.Settings) ([]event.Attendee, error) {
	token, err := zoomToken(ctx, d, s)
	if err != nil {
		return nil, err
	}
	// Zoom decodes an id twice if it begins with a slash or has two.
	id := url.PathEscape(meeting)
	if strings.HasPrefix(meeting, "/") || strings.Contains(meeting, "//") {
		id = url.PathEscape(id)
	}
	var out []event.Attendee
	next := ""
	for range maxPages {
		var page struct {
			Participants []struct {
				Name  string `json:"name"`
				Email string `json:"user_email"`
			} `json:"participants"`
			Next string `json:"next_page_token"`
		}
		if err := callJSON(ctx, d.Client, d.ZoomAPI+"/past_meetings/"+id+"/participants?page_size=300&next_page_token="+url.QueryEscape(next), token, &page); err != nil {
			return nil, err
		}
		for _, p := range page.Participants {
			out = addAttendee(out, event.Attendee{Name: p.Name, Email: p.Email})
		}
		if next = page.Next; next == "" {
			break
		}
	}
	return out, nil
}
