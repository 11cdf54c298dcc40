package inbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/event/meeting"
	"github.com/magpie-search/magpie/internal/event/provider"
)

// subscriptions is Microsoft Graph and Google Workspace Events, as far as subscriptions go.
type subscriptions struct {
	t       *testing.T
	now     func() time.Time
	deliver func(address string, r *event.Request) (event.Answer, error)

	mu     sync.Mutex
	made   int
	live   map[string]map[string]any
	asked  []string // method and path
	refuse int      // the status of every request with a subscription; 0 for none
	slow   chan struct{}
}

func (p *subscriptions) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	at := r.URL.Host + r.URL.Path
	switch {
	case strings.HasSuffix(at, "/token"):
		_, _ = io.WriteString(w, `{"access_token":"t"}`)
	case strings.HasPrefix(at, "admin.googleapis.com"):
		_, _ = io.WriteString(w, `{"id":"107"}`)
	default:
		p.serve(w, r)
	}
	return w.Result(), nil
}

func (p *subscriptions) serve(w *httptest.ResponseRecorder, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v1.0"), "/v1"))
	slow, refuse := p.slow, p.refuse
	p.mu.Unlock()
	if slow != nil {
		<-slow
	}
	var in map[string]any
	if r.Body != nil {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	if r.Header.Get("Authorization") != "Bearer t" || refuse != 0 {
		w.WriteHeader(max(refuse, http.StatusUnauthorized))
		_, _ = io.WriteString(w, `{"error":{"message":"The app may not."}}`)
		return
	}
	if strings.HasPrefix(r.URL.Host, "graph") {
		p.graph(w, r, in)
		return
	}
	p.google(w, r, in)
}

func (p *subscriptions) put(id string, fields map[string]any) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		p.made++
		id = fmt.Sprintf("s%d", p.made)
	}
	all := maps.Clone(p.live[id])
	if all == nil {
		all = map[string]any{"id": id}
	}
	maps.Copy(all, fields)
	p.live[id] = all
	return all
}

func (p *subscriptions) get(id string) map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live[id]
}

func (p *subscriptions) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, id)
}

func (p *subscriptions) ids() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.live))
}

// count returns the number of requests that begin with a text.
func (p *subscriptions) count(prefix string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, one := range p.asked {
		if strings.HasPrefix(one, prefix) {
			n++
		}
	}
	return n
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// graph answers as Microsoft Graph does: it validates the address, limits the life, and
// never shows clientState.
func (p *subscriptions) graph(w *httptest.ResponseRecorder, r *http.Request, in map[string]any) {
	_, id, one := strings.Cut(r.URL.Path, "/subscriptions/")
	expires, _ := time.Parse(time.RFC3339, fmt.Sprint(in["expirationDateTime"]))
	if in != nil && (expires.Before(p.now()) || expires.Sub(p.now()) > 4320*time.Minute) {
		answerJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "Subscription expiration can only be 4320 minutes in the future."}})
		return
	}
	switch {
	case one && p.get(id) == nil:
		answerJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "not found"}})
	case r.Method == http.MethodPatch:
		answerJSON(w, http.StatusOK, p.put(id, map[string]any{"expirationDateTime": in["expirationDateTime"]}))
	case r.Method == http.MethodDelete:
		p.drop(id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet:
		var all []any
		for _, id := range p.ids() {
			shown := maps.Clone(p.get(id))
			delete(shown, "clientState")
			all = append(all, shown)
		}
		answerJSON(w, http.StatusOK, map[string]any{"value": all})
	default:
		for _, field := range []string{"notificationUrl", "lifecycleNotificationUrl"} {
			query := url.Values{"validationToken": {"Validation: 1"}}
			answer, err := p.deliver(fmt.Sprint(in[field]), &event.Request{Header: http.Header{}, Query: query})
			if err != nil || string(answer.Body) != "Validation: 1" {
				answerJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": "Subscription validation request failed."}})
				return
			}
		}
		if in["resource"] != "communications/onlineMeetings/getAllTranscripts" || in["changeType"] != "created" {
			p.t.Errorf("Graph got %v", in)
		}
		answerJSON(w, http.StatusCreated, p.put("", in))
	}
}

// google answers as Google Workspace Events does, with operations.
func (p *subscriptions) google(w *httptest.ResponseRecorder, r *http.Request, in map[string]any) {
	_, id, one := strings.Cut(r.URL.Path, "/subscriptions/")
	id, verb, _ := strings.Cut(id, ":")
	shown := func(fields map[string]any) map[string]any {
		fields = maps.Clone(fields)
		fields["name"] = "subscriptions/" + fmt.Sprint(fields["id"])
		return fields
	}
	done := func(fields map[string]any) {
		answerJSON(w, http.StatusOK, map[string]any{"name": "operations/1", "done": true, "response": shown(fields)})
	}
	life := map[string]any{"expireTime": p.now().Add(7 * 24 * time.Hour).Format(time.RFC3339)}
	switch {
	case one && p.get(id) == nil:
		answerJSON(w, http.StatusNotFound, map[string]any{"error": map[string]any{"message": "not found"}})
	case verb == "reactivate":
		done(p.put(id, map[string]any{"state": "ACTIVE"}))
	case r.Method == http.MethodPatch:
		if in["ttl"] != "604800s" || r.URL.Query().Get("updateMask") != "ttl" {
			p.t.Errorf("Google got %v", in)
		}
		done(p.put(id, life))
	case r.Method == http.MethodDelete:
		p.drop(id)
		answerJSON(w, http.StatusOK, map[string]any{"done": true})
	case one:
		answerJSON(w, http.StatusOK, shown(p.get(id)))
	case r.Method == http.MethodGet:
		var all []any
		for _, id := range p.ids() {
			all = append(all, shown(p.get(id)))
		}
		answerJSON(w, http.StatusOK, map[string]any{"subscriptions": all})
	default:
		if in["targetResource"] != "//cloudidentity.googleapis.com/users/107" || in["ttl"] != "604800s" {
			p.t.Errorf("Google got %v", in)
		}
		maps.Copy(in, life)
		in["state"] = "ACTIVE"
		done(p.put("", in))
	}
}

// subscribing returns a fixture with the stand-ins.
func subscribing(t *testing.T) (*fixture, *subscriptions) {
	t.Helper()
	p := &subscriptions{t: t, live: map[string]map[string]any{}}
	var h *fixture
	now := func() time.Time { return h.clock.now() }
	h = newFixture(t, meeting.Providers(meeting.Deps{Client: &http.Client{Transport: p}, Now: now})...)
	p.now = now
	p.deliver = func(address string, r *event.Request) (event.Answer, error) {
		parts := strings.Split(strings.TrimPrefix(address, "https://magpie.example.com/api/v1/webhooks/meetings/"), "/")
		return h.inbox.Receive(t.Context(), parts[0], uuid.MustParse(parts[1]), r)
	}
	return h, p
}

func (h *fixture) keep(later time.Duration) {
	h.t.Helper()
	h.clock.advance(later)
	_, err := h.inbox.Keep(h.t.Context())
	h.must(err)
}

func teamsDraft(more map[string]any) inbox.Draft {
	credentials := map[string]any{"client_secret": "cs"}
	maps.Copy(credentials, more)
	return inbox.Draft{Provider: "teams", Config: map[string]any{"tenant_id": "tenant", "client_id": "app"}, Credentials: credentials}
}

func googleDraft(t *testing.T) inbox.Draft {
	t.Helper()
	return inbox.Draft{Provider: "google_meet", Config: map[string]any{
		"service_account": "push@acme.iam.gserviceaccount.com", "topic": "projects/acme/topics/meet", "impersonate": "ada@example.com",
	}, Credentials: map[string]any{"key": settingsWithKey(t).Credentials["key"]}}
}

func TestASubscriptionIsMadeRenewedAndEnded(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]time.Duration{"teams": 2155 * time.Minute, "google_meet": 84 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, p := subscribing(t)
			ctx := h.workspace()
			draft := teamsDraft(nil)
			if name == "google_meet" {
				draft = googleDraft(t)
			}
			made := h.create(ctx, draft)
			h.keep(0)
			h.keep(time.Minute)
			if ids := p.ids(); !slices.Equal(ids, []string{"s1"}) || p.count("POST") != 1 {
				t.Fatalf("live are %v, asked %v", ids, p.asked)
			}
			if name == "teams" && (p.get("s1")["clientState"] != made.Secret || p.get("s1")["notificationUrl"] != made.URL) {
				t.Errorf("the subscription is %v", p.get("s1"))
			}
			s, ok, err := h.inbox.SubscriptionOf(ctx, h.row(ctx, made.Integration.ID))
			if err != nil || !ok || s.Error != "" || s.ExpiresAt == nil || s.RenewsAt == nil || s.ExpiresAt.Sub(*s.RenewsAt).Round(time.Minute) != half {
				t.Errorf("shown: %+v, %v, %v", s, ok, err)
			}
			// Another process goes on where this one ended.
			h.restart(p)
			h.keep(half - 2*time.Minute)
			if p.count("PATCH") != 0 {
				t.Error("renewed before half of its life")
			}
			h.keep(2 * time.Minute)
			if p.count("PATCH") != 1 || p.count("POST") != 1 {
				t.Errorf("at half of its life: asked %v", p.asked)
			}
			h.must(h.inbox.Delete(ctx, made.Integration.ID))
			h.keep(time.Minute)
			h.keep(time.Minute)
			if ids := p.ids(); len(ids) != 0 || p.count("DELETE") != 1 {
				t.Errorf("after its end live are %v, asked %v", ids, p.asked)
			}
			var rows int
			h.must(h.db.Pool.QueryRow(t.Context(), "select count(*) from inbound_subscriptions").Scan(&rows))
			if rows != 0 {
				t.Errorf("%d rows are left", rows)
			}
		})
	}
}

// restart replaces the inbox by a new one on the same database.
func (h *fixture) restart(p *subscriptions) {
	h.t.Helper()
	h.providers = append(slices.DeleteFunc(provider.All(provider.Deps{}), func(p event.Provider) bool { return p.Family == event.Meetings }),
		meeting.Providers(meeting.Deps{Client: &http.Client{Transport: p}, Now: h.clock.now})...)
	h.inbox = h.with(h.box("k"))
}

// lifecycle delivers a notification of Graph about a subscription.
func (h *fixture) lifecycle(made inbox.Shown, word, id, kind string) error {
	h.t.Helper()
	body := `{"value":[{"subscriptionId":"` + id + `","clientState":"` + word + `","lifecycleEvent":"` + kind + `","tenantId":"tenant"}]}`
	_, err := h.inbox.Receive(h.t.Context(), "teams", made.Integration.ID, &event.Request{Header: http.Header{}, Body: []byte(body)})
	return err
}

func TestGraphAsksForRenewalsAndEndsSubscriptions(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	made := h.create(ctx, teamsDraft(nil))
	h.keep(0)
	if err := h.lifecycle(made, "guess", "s1", "subscriptionRemoved"); err == nil {
		t.Error("another clientState is accepted")
	}
	h.must(h.lifecycle(made, made.Secret, "s0", "subscriptionRemoved")) // of one before
	h.keep(time.Minute)
	if p.count("PATCH")+p.count("POST") != 1 {
		t.Errorf("asked %v", p.asked)
	}
	h.must(h.lifecycle(made, made.Secret, "s1", "reauthorizationRequired"))
	h.keep(time.Minute)
	if p.count("PATCH") != 1 {
		t.Errorf("no renewal: asked %v", p.asked)
	}
	p.drop("s1")
	h.must(h.lifecycle(made, made.Secret, "s1", "subscriptionRemoved"))
	h.keep(time.Minute)
	if ids := p.ids(); !slices.Equal(ids, []string{"s2"}) {
		t.Errorf("after it was removed live are %v", ids)
	}
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusOK || row.LastError != nil {
		t.Errorf("the integration is %v", row)
	}
	p.drop("s2") // nobody says so
	h.keep(36 * time.Hour)
	if ids := p.ids(); !slices.Equal(ids, []string{"s3"}) {
		t.Errorf("after it was lost live are %v", ids)
	}
	h.must(h.lifecycle(made, made.Secret, "s3", "missed"))
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusFailing || row.LastError == nil || !strings.Contains(*row.LastError, "transcripts may be missing") {
		t.Errorf("after missed notifications: %v", row)
	}
}

func TestGoogleSaysThatASubscriptionWasSuspendedOrHasEnded(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	made := h.create(ctx, googleDraft(t))
	h.keep(0)
	providers := h.inbox.Providers()
	s, err := h.inbox.Settings(h.row(ctx, made.Integration.ID))
	h.must(err)
	// The token of Google is checked by another test.
	google := providers[slices.IndexFunc(providers, func(p event.Provider) bool { return p.Name == "google_meet" })]
	say := func(kind, name string) []event.Notice {
		data, err := json.Marshal(map[string]any{"subscription": map[string]any{"name": name}})
		h.must(err)
		body, err := json.Marshal(map[string]any{"subscription": "projects/acme/subscriptions/meet", "message": map[string]any{
			"messageId": "1", "data": data, "attributes": map[string]string{"ce-type": "google.workspace.events.subscription.v1." + kind},
		}})
		h.must(err)
		d, err := google.Receive(t.Context(), &event.Request{Body: body}, s, "")
		if err != nil || len(d.Events) != 0 {
			t.Fatalf("%s: %+v, %v", kind, d, err)
		}
		return d.Notices
	}
	for kind, want := range map[string]event.Notice{
		"suspended": {Subscription: "subscriptions/s1"}, "expirationReminder": {Subscription: "subscriptions/s1"}, "expired": {Subscription: "subscriptions/s1", Lost: true},
	} {
		got := say(kind, "subscriptions/s1")
		if len(got) != 1 || got[0].Subscription != want.Subscription || got[0].Lost != want.Lost || got[0].Failing == "" {
			t.Errorf("%s: %+v", kind, got)
		}
	}
	if got := say("expired", "../users/me"); got[0].Subscription != "" {
		t.Errorf("a name that is none: %+v", got)
	}
	p.put("s1", map[string]any{"state": "SUSPENDED"})
	h.keep(84 * time.Hour)
	if p.get("s1")["state"] != "ACTIVE" || p.count("POST /subscriptions/s1:reactivate") != 1 {
		t.Errorf("suspended: %v, asked %v", p.get("s1"), p.asked)
	}
	p.drop("s1")
	h.keep(84 * time.Hour)
	if ids := p.ids(); !slices.Equal(ids, []string{"s2"}) {
		t.Errorf("after it was lost live are %v", ids)
	}
	// A process that died before it could store the name finds the subscription again.
	_, err = h.db.Pool.Exec(t.Context(), "update inbound_subscriptions set external_id = ''")
	h.must(err)
	h.keep(84 * time.Hour)
	if ids := p.ids(); !slices.Equal(ids, []string{"s2"}) {
		t.Errorf("taken over are %v", ids)
	}
}

func TestAnUnstoredSubscriptionOfGraphIsReplaced(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	made := h.create(ctx, teamsDraft(nil))
	p.put("lost", map[string]any{"notificationUrl": made.URL, "resource": "communications/onlineMeetings/getAllTranscripts"})
	p.put("foreign", map[string]any{"notificationUrl": "https://other.example.com/", "resource": "communications/onlineMeetings/getAllTranscripts"})
	h.keep(0)
	if ids := p.ids(); !slices.Equal(ids, []string{"foreign", "s1"}) {
		t.Errorf("live are %v", ids)
	}
}

func TestChangedSettingsMakeTheSubscriptionAnew(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	made := h.create(ctx, teamsDraft(nil))
	id := made.Integration.ID
	h.keep(0)
	rotated, err := h.inbox.Rotate(ctx, id, "")
	h.must(err)
	h.keep(time.Minute)
	if ids := p.ids(); !slices.Equal(ids, []string{"s2"}) || p.get("s2")["clientState"] != rotated.Secret {
		t.Errorf("after a rotation live are %v", ids)
	}
	off, on := false, true
	for _, step := range []struct {
		change inbox.Change
		live   []string
	}{
		{inbox.Change{Enabled: &off}, nil}, {inbox.Change{Enabled: &on}, []string{"s3"}},
		{inbox.Change{Credentials: map[string]any{"client_secret": nil}}, nil}, {inbox.Change{Credentials: map[string]any{"client_secret": "new"}}, []string{"s4"}},
	} {
		_, err := h.inbox.Update(ctx, id, step.change)
		h.must(err)
		h.keep(time.Minute)
		if ids := p.ids(); !slices.Equal(ids, step.live) {
			t.Errorf("after %+v live are %v, want %v", step.change, ids, step.live)
		}
		if _, ok, err := h.inbox.SubscriptionOf(ctx, h.row(ctx, id)); err != nil || ok != (step.live != nil) {
			t.Errorf("after %+v shown: %v, %v", step.change, ok, err)
		}
	}
}

func TestAFailingSubscriptionIsShownAndTriedAgain(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	made := h.create(ctx, teamsDraft(nil))
	p.refuse = http.StatusForbidden
	h.keep(0)
	row := h.row(ctx, made.Integration.ID)
	if row.Status != inboundintegration.StatusFailing || row.LastError == nil || !strings.Contains(*row.LastError, "graph.microsoft.com answered 403: The app may not.") || strings.Contains(*row.LastError, "cs") {
		t.Errorf("the integration is %v", row)
	}
	s, ok, err := h.inbox.SubscriptionOf(ctx, row)
	if err != nil || !ok || s.ExpiresAt != nil || s.RenewsAt == nil || s.Error == "" {
		t.Errorf("shown: %+v, %v, %v", s, ok, err)
	}
	asked := len(p.asked)
	h.keep(30 * time.Second)
	if len(p.asked) != asked {
		t.Error("tried again before the time")
	}
	p.refuse = 0
	h.keep(time.Minute)
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusUnverified || row.LastError != nil || len(p.ids()) != 1 {
		t.Errorf("the integration is %v", row)
	}
	// The end of a deleted one is tried until it has ended by itself.
	p.refuse = http.StatusServiceUnavailable
	h.must(h.inbox.Delete(ctx, made.Integration.ID))
	for range 3 {
		h.keep(time.Hour)
	}
	if n := p.count("DELETE"); n != 3 {
		t.Errorf("%d attempts to end it", n)
	}
	h.keep(72 * time.Hour)
	var rows int
	h.must(h.db.Pool.QueryRow(t.Context(), "select count(*) from inbound_subscriptions").Scan(&rows))
	if rows != 0 || p.count("DELETE") != 3 {
		t.Errorf("%d rows are left, asked %v", rows, p.asked)
	}
}

func TestOneProcessAtATimeKeepsASubscription(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	for range 3 {
		h.create(ctx, teamsDraft(nil))
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if _, err := h.inbox.Keep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := p.count("POST"); n != 3 || len(p.ids()) != 3 {
		t.Errorf("%d were made: %v", n, p.ids())
	}
}

// A process that was away for too long does not overwrite what another one made, and
// leaves nothing behind.
func TestALateProcessLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h, p := subscribing(t)
	ctx := h.workspace()
	h.create(ctx, teamsDraft(nil))
	p.slow = make(chan struct{})
	late := make(chan error, 1)
	go func() {
		_, err := h.inbox.Keep(t.Context())
		late <- err
	}()
	p.slow <- struct{}{} // its first request is answered; the next waits
	h.clock.advance(3 * time.Minute)
	slow := p.slow
	p.mu.Lock()
	p.slow = nil
	p.mu.Unlock()
	h.keep(0)
	close(slow)
	h.must(<-late)
	var external string
	h.must(h.db.Pool.QueryRow(t.Context(), "select external_id from inbound_subscriptions").Scan(&external))
	if ids := p.ids(); !slices.Equal(ids, []string{external}) {
		t.Errorf("live are %v, stored is %s", ids, external)
	}
}
