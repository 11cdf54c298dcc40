package inbox_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/inboundevent"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/event/meeting"
	"github.com/magpie-search/magpie/internal/event/transcript"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// platform answers the requests to a platform, by host and path.
type platform struct {
	mu      sync.Mutex
	answers map[string]string // an empty one is 404
	asked   []string
	tokens  map[string]string // the Authorization of the last request of a path
}

func newPlatform(answers map[string]string) *platform {
	return &platform{answers: answers, tokens: map[string]string{}}
}

func (p *platform) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := r.URL.Host + r.URL.EscapedPath()
	p.asked, p.tokens[at] = append(p.asked, at), r.Header.Get("Authorization")
	w := httptest.NewRecorder()
	if answer := p.answers[at]; answer != "" {
		_, _ = w.WriteString(answer)
	} else {
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

func (p *platform) set(at, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[at] = answer
}

func zoomSigned(word string, at time.Time, body string) *event.Request {
	stamp := strconv.FormatInt(at.Unix(), 10)
	header := http.Header{}
	header.Set("X-Zm-Request-Timestamp", stamp)
	header.Set("X-Zm-Signature", "v0="+hexMAC(word, "v0:"+stamp+":"+body))
	return &event.Request{Header: header, Body: []byte(body), URL: "https://magpie.example.com/"}
}

func TestHandshakesAreAnsweredOnlyToThePlatform(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	h.create(ctx, inbox.Draft{Provider: "zoom", Credentials: map[string]any{"secret": "of another"}})
	made := h.create(ctx, inbox.Draft{Provider: "zoom", Credentials: map[string]any{"secret": "s3cret"}})
	const body = `{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event_ts":1654503849680,"event":"endpoint.url_validation"}`
	want := `{"encryptedToken":"` + hexMAC("s3cret", "qgg8vlvZRS6UYooatFL8Aw") + `","plainToken":"qgg8vlvZRS6UYooatFL8Aw"}`
	for _, to := range []uuid.UUID{made.Integration.ID, uuid.Nil} {
		answer, err := h.inbox.Receive(t.Context(), "zoom", to, zoomSigned("s3cret", h.clock.now(), body))
		if err != nil || string(answer.Body) != want {
			t.Errorf("%s: %s, %v", to, answer.Body, err)
		}
		if _, err := h.inbox.Receive(t.Context(), "zoom", to, zoomSigned("guess", h.clock.now(), body)); apierr.From(err).Code != apierr.InvalidSignature {
			t.Errorf("a stranger's: %v", err)
		}
	}
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusOK || len(h.events(ctx)) != 0 {
		t.Errorf("the integration is %v", row)
	}
	// The answer must not sign a delivery for others.
	forged := strings.Replace(body, "qgg8vlvZRS6UYooatFL8Aw", "v0:1654503849:{}", 1)
	if _, err := h.inbox.Receive(t.Context(), "zoom", made.Integration.ID, zoomSigned("s3cret", h.clock.now(), forged)); apierr.From(err).Code != apierr.InvalidRequest {
		t.Errorf("a text that Zoom could sign: %v", err)
	}
	r := &event.Request{Header: http.Header{}, Query: map[string][]string{"validationToken": {"Validation: <b>"}}}
	if answer, err := h.inbox.Receive(t.Context(), "teams", uuid.Nil, r); err != nil || string(answer.Body) != "Validation: &lt;b&gt;" || !strings.HasPrefix(answer.ContentType, "text/plain") {
		t.Errorf("Teams: %+v, %v", answer, err)
	}
}

func TestMailsOfOtherSendersAreRejected(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.create(ctx, inbox.Draft{Provider: "postmark", Config: map[string]any{"allowed_senders": []any{"example.com", "eve@other.example"}}})
	worker := inbox.NewProcessor(h.inbox, nil, nil)
	for i, from := range []string{"ada@example.com", "Eve@Other.example", "eve@example.com.evil", "mallory@other.example"} {
		r := &event.Request{Header: http.Header{}, Body: []byte(`{"FromFull":{"Email":"` + from + `"},"OriginalRecipient":"x+` + made.Integration.Token + `@in.example","MessageID":"` + strconv.Itoa(i) + `"}`)}
		basic := http.Request{Header: r.Header}
		basic.SetBasicAuth("magpie", made.Secret)
		if _, err := h.inbox.Receive(t.Context(), "postmark", uuid.Nil, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, task := range h.queue.take() {
		h.must(worker.Process(t.Context(), task))
	}
	got := map[string]inboundevent.Status{}
	for _, e := range h.events(ctx) {
		got[e.ProviderEventID] = e.Status
	}
	if got["0"] != "IGNORED" || got["1"] != "IGNORED" || got["2"] != "REJECTED" || got["3"] != "REJECTED" {
		t.Errorf("the events are %v", got)
	}
}

const vtt = "WEBVTT\r\n\r\n1\r\n00:00:03.000 --> 00:00:05.000\r\nAda Lovelace: The xylophone is late.\r\n\r\n2\r\n00:00:05.500 --> 00:00:07.000\r\nAda Lovelace: We wait.\r\n\r\n3\r\n01:00:08.000 --> 01:00:09.000\r\nBob: Fine.\r\n"

const zoomTranscript = `{"event":"recording.transcript_completed","event_ts":1626230691572,"payload":{"account_id":"acc","object":{"uuid":"/u1==","id":1,"topic":"Weekly","start_time":"2026-11-24T10:00:00Z","host_email":"Ada@example.com","recording_files":[{"id":"f","file_type":"TRANSCRIPT","download_url":"https://acme.zoom.us/rec/download/f"}]}},"download_token":"tok"}`

// meetings returns a fixture whose meeting platforms are stand-ins, a collection, and a
// worker that stores transcripts.
func meetings(t *testing.T, p *platform) (*fixture, context.Context, *ent.Collection, *inbox.Processor) {
	t.Helper()
	h := newFixture(t, meeting.Providers(meeting.Deps{Client: &http.Client{Transport: p}})...)
	ctx := h.workspace()
	models, err := embed.NewRegistry(embed.NewBuiltin())
	h.must(err)
	collection, err := h.db.Ent.Collection.Create().SetName("Meetings").SetEmbeddingModel(models.Default().Model()).Save(ctx)
	h.must(err)
	parser := parse.New(parse.Options{})
	t.Cleanup(func() { _ = parser.Close() })
	store := transcript.New(transcript.Options{Ent: h.db.Ent, Index: index.New(h.db.Pool, analysis.New()), Parser: parser, Models: models, Now: h.clock.now})
	return h, ctx, collection, inbox.NewProcessor(h.inbox, nil, store)
}

// run processes all tasks, and those that the sweep finds until a time.
func (h *fixture) run(worker *inbox.Processor, until time.Duration) {
	h.t.Helper()
	end := h.clock.now().Add(until)
	for {
		tasks := h.queue.take()
		pending, err := worker.Pending(h.t.Context())
		h.must(err)
		for _, task := range append(tasks, pending...) {
			h.must(worker.Process(h.t.Context(), task))
		}
		if !h.clock.now().Before(end) {
			return
		}
		h.clock.advance(31 * time.Second)
	}
}

func TestATranscriptIsWaitedForAndStoredForItsAttendees(t *testing.T) {
	t.Parallel()
	const file, participants = "acme.zoom.us/rec/download/f", "api.zoom.us/v2/past_meetings/%252Fu1==/participants"
	p := newPlatform(map[string]string{
		"zoom.us/oauth/token": `{"access_token":"api"}`,
		participants:          `{"participants":[{"name":"Bob","user_email":"bob@example.com"},{"name":"Guest","user_email":""}]}`,
	})
	h, ctx, collection, worker := meetings(t, p)
	made := h.create(ctx, inbox.Draft{Provider: "zoom", Config: map[string]any{"account_id": "acc", "collection": collection.ID.String()},
		Credentials: map[string]any{"secret": "s3cret", "client_id": "id", "client_secret": "cs"}})
	if _, err := h.inbox.Receive(t.Context(), "zoom", made.Integration.ID, zoomSigned("s3cret", h.clock.now(), zoomTranscript)); err != nil {
		t.Fatal(err)
	}
	h.run(worker, 10*time.Minute)
	if e := h.events(ctx)[0]; e.Status != inboundevent.StatusReceived || e.Reason == nil || !strings.Contains(*e.Reason, "waits for the transcript") || e.Attempts < 3 {
		t.Errorf("while it waits: %v", e)
	}
	p.set(file, vtt)
	h.run(worker, 2*time.Hour)
	e := h.events(ctx)[0]
	if e.Status != inboundevent.StatusIgnored || e.DocumentID == nil {
		t.Fatalf("the event is %v, asked %v", e, p.asked)
	}
	var readers []string
	h.must(h.db.Pool.QueryRow(t.Context(), "select readers from documents where id = $1", *e.DocumentID).Scan(&readers))
	if slices.Sort(readers); !slices.Equal(readers, []string{"user:ada@example.com", "user:bob@example.com"}) {
		t.Errorf("the readers are %v", readers)
	}
	row, err := h.db.Ent.Document.Query().Where(document.ID(*e.DocumentID)).Only(ctx)
	if err != nil || row.Title != "Weekly" || row.Path != "zoom/2026-11-24/Weekly.md" || row.CollectionID != collection.ID {
		t.Errorf("the document is %v, %v", row, err)
	}
	if p.tokens[file] != "Bearer tok" || p.tokens[participants] != "Bearer api" {
		t.Errorf("the tokens were %v", p.tokens)
	}
	// The same transcript again is the same document.
	if _, err := h.inbox.Resend(ctx, e.ID); err != nil {
		t.Fatal(err)
	}
	h.run(worker, 0)
	if n, err := h.db.Ent.Document.Query().Count(ctx); err != nil || n != 1 {
		t.Errorf("%d documents, %v", n, err)
	}
}

func TestATranscriptThatNeverComesFails(t *testing.T) {
	t.Parallel()
	p := newPlatform(map[string]string{})
	h, ctx, collection, worker := meetings(t, p)
	made := h.create(ctx, inbox.Draft{Provider: "zoom", Config: map[string]any{"collection": collection.ID.String()}, Credentials: map[string]any{"secret": "s3cret"}})
	for _, body := range []string{zoomTranscript, strings.NewReplacer("acme.zoom.us", "evil.example", "/u1", "/u2").Replace(zoomTranscript)} {
		if _, err := h.inbox.Receive(t.Context(), "zoom", made.Integration.ID, zoomSigned("s3cret", h.clock.now(), body)); err != nil {
			t.Fatal(err)
		}
	}
	h.run(worker, 8*time.Hour)
	var reasons []string
	for _, e := range h.events(ctx) {
		if e.Status == inboundevent.StatusFailed && e.Reason != nil {
			reasons = append(reasons, *e.Reason)
		}
	}
	slices.Sort(reasons)
	if len(reasons) != 2 || !strings.HasPrefix(reasons[0], "transcript never came") || !strings.Contains(reasons[1], "not one of Zoom") {
		t.Errorf("the reasons are %q", reasons)
	}
	if slices.Contains(p.asked, "evil.example/rec/download/f") {
		t.Error("the token went to another host")
	}
	if n := len(p.asked); n < 8 || n > 20 {
		t.Errorf("the platform was asked %d times", n)
	}
}

func TestTranscriptsOfTeamsAndGoogleMeet(t *testing.T) {
	t.Parallel()
	const graph, meet = "graph.microsoft.com/v1.0/", "meet.googleapis.com/v2/"
	const onlineMeeting = "users('u-1')/onlineMeetings('M1')"
	p := newPlatform(map[string]string{
		"login.microsoftonline.com/tenant/oauth2/v2.0/token": `{"access_token":"graph"}`,
		graph + onlineMeeting:                                `{"subject":"Stand-up","startDateTime":"2026-11-24T09:00:00Z","participants":{"organizer":{"upn":"Ada@example.com","identity":{"user":{"displayName":"Ada"}}},"attendees":[{"upn":"bob@example.com"}]}}`,
		graph + onlineMeeting + "/transcripts('T1')/content": "WEBVTT\n\n00:00:16.246 --> 00:00:17.726\n<v Ada>The xylophone &amp; more.</v>\n",
	})
	h, ctx, collection, worker := meetings(t, p)
	made := h.create(ctx, inbox.Draft{Provider: "teams", Config: map[string]any{"tenant_id": "tenant", "client_id": "app", "collection": collection.ID.String()},
		Credentials: map[string]any{"client_secret": "cs"}})
	body := `{"value":[{"subscriptionId":"s","clientState":"` + made.Secret + `","changeType":"created","resource":"` + onlineMeeting + `/transcripts('T1')","tenantId":"tenant"},` +
		`{"subscriptionId":"s","clientState":"` + made.Secret + `","changeType":"created","resource":"../../me/messages","tenantId":"tenant"}]}`
	if _, err := h.inbox.Receive(t.Context(), "teams", uuid.Nil, &event.Request{Header: http.Header{}, Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
	h.run(worker, 0)
	stored := 0
	for _, e := range h.events(ctx) {
		if e.DocumentID != nil {
			stored++
		}
	}
	row, err := h.db.Ent.Document.Query().Only(ctx)
	if err != nil || row.Title != "Stand-up" || stored != 1 || slices.ContainsFunc(p.asked, func(at string) bool { return strings.Contains(at, "messages") }) {
		t.Errorf("Teams: %v, %v, %d documents, asked %v", row, err, stored, p.asked)
	}
	lost := `{"value":[{"subscriptionId":"s","clientState":"` + made.Secret + `","lifecycleEvent":"subscriptionRemoved","tenantId":"tenant"}]}`
	if _, err := h.inbox.Receive(t.Context(), "teams", made.Integration.ID, &event.Request{Header: http.Header{}, Body: []byte(lost)}); err != nil {
		t.Fatal(err)
	}
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusFailing || row.LastError == nil {
		t.Errorf("after its subscription was removed: %v", row)
	}
	m := &event.Meeting{ID: "conferenceRecords/c", Transcript: &event.TranscriptSource{ID: "conferenceRecords/c/transcripts/t"}}
	for at, answer := range map[string]string{
		"oauth2.googleapis.com/token":                      `{"access_token":"google"}`,
		meet + "conferenceRecords/c":                       `{"startTime":"2026-11-24T09:00:00Z"}`,
		meet + "conferenceRecords/c/participants":          `{"participants":[{"name":"conferenceRecords/c/participants/p","signedinUser":{"user":"users/7","displayName":"Ada"}},{"name":"q","anonymousUser":{"displayName":"Guest"}}]}`,
		meet + "conferenceRecords/c/transcripts/t/entries": `{"transcriptEntries":[{"participant":"conferenceRecords/c/participants/p","text":"Hello there.","startTime":"2026-11-24T09:00:05Z","endTime":"2026-11-24T09:00:06Z"}]}`,
		"admin.googleapis.com/admin/directory/v1/users/7":  `{"primaryEmail":"Ada@example.com"}`,
	} {
		p.set(at, answer)
	}
	google := meeting.GoogleMeet(meeting.Deps{Client: &http.Client{Transport: p}})
	s := settingsWithKey(t)
	got, err := google.Transcript(t.Context(), m, s)
	if err != nil || got.Markdown != "**Ada** (0:00:05): Hello there." || len(got.Attendees) != 2 || got.Attendees[0].Email != "ada@example.com" {
		t.Errorf("Google Meet: %+v, %v", got, err)
	}
	p.set(meet+"conferenceRecords/c/transcripts/t/entries", `{}`)
	if _, err := google.Transcript(t.Context(), m, s); err == nil {
		t.Error("an empty transcript is there")
	}
}

// Settings that are no secret can be copied. A delivery that names nobody else must not
// reach the copy.
func TestACopyOfPublishedSettingsReceivesNothing(t *testing.T) {
	t.Parallel()
	published := event.Provider{
		Family: event.Email, Name: "ses", Title: "Signed by a published key",
		Keys:   func(connectors.Settings) []string { return []string{"topic"} },
		Route:  func(*event.Request) ([]string, error) { return []string{"topic"}, nil },
		Verify: func(context.Context, *event.Request, connectors.Settings, string, time.Time) error { return nil },
		Receive: func(_ context.Context, r *event.Request, _ connectors.Settings, _ string) (event.Delivery, error) {
			return event.Delivery{Events: []event.Event{{ID: string(r.Body), Type: "email"}}}, nil
		},
	}
	h := newFixture(t, published)
	ada, eve := h.workspace(), h.workspace()
	own := h.create(ada, inbox.Draft{Provider: "ses"})
	send := func(to uuid.UUID, id string) apierr.Code {
		_, err := h.inbox.Receive(t.Context(), "ses", to, &event.Request{Header: http.Header{}, Body: []byte(id)})
		if err != nil {
			return apierr.From(err).Code
		}
		return ""
	}
	if code := send(uuid.Nil, "1"); code != "" {
		t.Errorf("alone: %s", code)
	}
	h.create(ada, inbox.Draft{Provider: "ses"})
	if code := send(uuid.Nil, "2"); code != "" {
		t.Errorf("twice in one workspace: %s", code)
	}
	h.create(eve, inbox.Draft{Provider: "ses"})
	if code := send(uuid.Nil, "3"); code != apierr.InvalidSignature {
		t.Errorf("with a copy: %q", code)
	}
	off := false
	if _, err := h.inbox.Update(ada, own.Integration.ID, inbox.Change{Enabled: &off}); err != nil {
		t.Fatal(err)
	}
	if code := send(uuid.Nil, "4"); code != apierr.InvalidSignature {
		t.Errorf("with a copy, while one is disabled: %q", code)
	}
	on := true
	if _, err := h.inbox.Update(ada, own.Integration.ID, inbox.Change{Enabled: &on}); err != nil {
		t.Fatal(err)
	}
	if code := send(own.Integration.ID, "5"); code != "" {
		t.Errorf("by its id: %s", code)
	}
	if n, m := len(h.events(ada)), len(h.events(eve)); n != 4 || m != 0 {
		t.Errorf("ada has %d events, eve %d", n, m)
	}
	if row := h.row(ada, own.Integration.ID); row.LastError != nil {
		t.Errorf("after a good delivery: %v", row)
	}
}
