package inbox_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/inboundevent"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/queue"
)

func hexMAC(secret, body string) string { return hex.EncodeToString(event.MAC(secret, []byte(body))) }

const opened = `{"action":"opened","issue":{"number":7,"title":"A xylophone"},"repository":{"full_name":"Acme/Hooks"}}`

func TestADeliveryIsKeptOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret", "acme/*")
	if made.Integration.Status != inboundintegration.StatusUnverified || made.Secret != "" {
		t.Errorf("created: %+v", made)
	}
	var sent sync.WaitGroup
	for range 20 {
		sent.Go(func() {
			if code := h.send("s3cret", uuid.Nil, "d-1", opened); code != "" {
				t.Errorf("refused: %s", code)
			}
		})
	}
	sent.Wait()
	rows := h.events(ctx)
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	e := rows[0]
	if e.Status != inboundevent.StatusReceived || e.Type != "issues.opened" || e.ProviderEventID != "d-1" || e.Size != int64(len(opened)) || !strings.Contains(e.Summary, "A xylophone") {
		t.Errorf("the event is %v", e)
	}
	if e.Payload == nil || bytes.Contains(e.Payload, []byte("xylophone")) {
		t.Error("the payload is not sealed")
	}
	if tasks := h.queue.take(); len(tasks) != 1 || tasks[0].Event != e.ID {
		t.Errorf("the tasks are %v", tasks)
	}
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusOK || row.LastEventAt == nil || row.LastError != nil {
		t.Errorf("the integration is %v", row)
	}
}

func TestATestOfTheAddressVerifiesTheIntegration(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret")
	r := signed("s3cret", "p-1", `{"zen":"Design for failure."}`)
	r.Header.Set("X-Github-Event", "ping")
	if _, err := h.inbox.Receive(t.Context(), "github", made.Integration.ID, r); err != nil {
		t.Fatal(err)
	}
	if row := h.row(ctx, made.Integration.ID); row.Status != inboundintegration.StatusOK || len(h.events(ctx)) != 0 {
		t.Errorf("the integration is %v", row)
	}
}

func TestARefusedDeliveryIsCountedAndLeavesNoRow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret", "acme/hooks")
	id := made.Integration.ID
	for range 3 {
		if code := h.send("wrong", id, "d-1", opened); code != apierr.InvalidSignature {
			t.Errorf("accepted: %q", code)
		}
		h.clock.advance(2 * time.Second)
	}
	if code := h.send("wrong", uuid.Nil, "d-1", opened); code != apierr.InvalidSignature {
		t.Errorf("accepted by its key: %q", code)
	}
	row := h.row(ctx, id)
	if row.Rejected != 4 || row.LastError == nil || !strings.Contains(*row.LastError, "signature does not match") || row.Status != inboundintegration.StatusUnverified || len(h.events(ctx)) != 0 {
		t.Errorf("the integration is %v", row)
	}
	for what, try := range map[string]struct {
		to   uuid.UUID
		body string
		code apierr.Code
	}{
		"an unknown integration": {uuid.New(), opened, apierr.CodeNotFound},
		"no JSON":                {uuid.Nil, "{", apierr.InvalidRequest},
		"another repository":     {uuid.Nil, strings.ReplaceAll(opened, "Acme", "Other"), apierr.InvalidSignature},
		"no repository":          {uuid.Nil, "{}", apierr.InvalidSignature},
	} {
		if code := h.send("s3cret", try.to, "d-2", try.body); code != try.code {
			t.Errorf("%s: %q, not %q", what, code, try.code)
		}
	}
	if _, err := h.inbox.Receive(t.Context(), "jira", id, signed("s3cret", "d-2", opened)); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("another provider's: %v", err)
	}
	if _, err := h.inbox.Receive(t.Context(), "fax", id, signed("s3cret", "d-2", opened)); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("an unknown provider: %v", err)
	}
	off := false
	if _, err := h.inbox.Update(ctx, id, inbox.Change{Enabled: &off}); err != nil {
		t.Fatal(err)
	}
	if code := h.send("s3cret", id, "d-2", opened); code != apierr.CodeNotFound {
		t.Errorf("a disabled integration: %q", code)
	}
}

func TestAStaleDeliveryIsRefusedByItsTime(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.create(ctx, inbox.Draft{Provider: "zendesk", Credentials: map[string]any{"secret": "s3cret"}})
	body := `{"type":"zen:event-type:ticket.created","id":"1","detail":{"id":"7"}}`
	r := signed("", "", body)
	stamp := h.clock.now().Add(-6 * time.Minute).Format(time.RFC3339)
	r.Header.Set("X-Zendesk-Webhook-Signature-Timestamp", stamp)
	r.Header.Set("X-Zendesk-Webhook-Signature", base64MAC("s3cret", stamp+body))
	_, err := h.inbox.Receive(t.Context(), "zendesk", made.Integration.ID, r)
	if e := apierr.From(err); e.Code != apierr.InvalidSignature || !strings.HasPrefix(e.Message, "timestamp") {
		t.Errorf("got %v", err)
	}
	if row := h.row(ctx, made.Integration.ID); row.LastError == nil || !strings.HasPrefix(*row.LastError, "timestamp") || len(h.events(ctx)) != 0 {
		t.Errorf("the integration is %v", row)
	}
}

func TestAnAccountThatManyWorkspacesNameReachesItsOwn(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.workspace(), h.workspace()
	h.github(ada, "of ada", "acme/*")
	if code := h.send("of ada", uuid.Nil, "d-1", opened); code != "" {
		t.Fatal(code)
	}
	h.clock.advance(time.Minute)
	// Eve names the organization of Ada often.
	for range 30 {
		h.github(eve, "of eve", "acme/*", "acme/hooks")
	}
	if code := h.send("of ada", uuid.Nil, "d-2", opened); code != "" {
		t.Errorf("crowded out: %s", code)
	}
	if code := h.send("of nobody", uuid.Nil, "d-3", opened); code != apierr.InvalidSignature {
		t.Errorf("accepted: %q", code)
	}
	if n := len(h.events(ada)); n != 2 {
		t.Errorf("ada has %d events", n)
	}
	if n := len(h.events(eve)); n != 0 {
		t.Errorf("eve has %d events", n)
	}
}

func TestBothSecretsAreAcceptedDuringARotation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.create(ctx, inbox.Draft{Provider: "github"})
	id, old := made.Integration.ID, made.Secret
	rotated, err := h.inbox.Rotate(ctx, id, "")
	h.must(err)
	if old == "" || rotated.Secret == "" || rotated.Secret == old || rotated.Integration.PreviousUntil == nil {
		t.Fatalf("rotated: %+v", rotated)
	}
	for i, word := range []string{old, rotated.Secret} {
		if code := h.send(word, id, fmt.Sprint("during-", i), opened); code != "" {
			t.Errorf("secret %d during the overlap: %s", i, code)
		}
	}
	h.clock.advance(25 * time.Hour)
	if code := h.send(old, id, "after-0", opened); code != apierr.InvalidSignature {
		t.Errorf("the old secret after the overlap: %q", code)
	}
	if code := h.send(rotated.Secret, id, "after-1", opened); code != "" {
		t.Errorf("the new secret after the overlap: %s", code)
	}
	if swept, err := h.inbox.Sweep(t.Context()); err != nil || swept.Secrets != 1 {
		t.Errorf("swept: %+v, %v", swept, err)
	}
	if row := h.row(ctx, id); row.PreviousCredentials != nil {
		t.Error("the old secret is kept")
	}
}

// recorder is a Handler that notes what it gets, and starts an automation for each issue
// with a number in starts.
type recorder struct {
	mu     sync.Mutex
	got    []inbox.Received
	fail   int
	starts map[string]uuid.UUID
}

var errHandler = errors.New("the handler is away")

func (r *recorder) HandleEvent(_ context.Context, e inbox.Received) (inbox.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail > 0 {
		r.fail--
		return inbox.Outcome{}, errHandler
	}
	r.got = append(r.got, e)
	if o := e.Content.Object; o != nil && r.starts[o.ID] != uuid.Nil {
		return inbox.Outcome{Automations: []uuid.UUID{r.starts[o.ID]}}, nil
	}
	return inbox.Outcome{Reason: inbox.NoAutomation}, nil
}

func TestAWorkerFindsTheAutomationsOfAnEvent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret")
	automation := uuid.New()
	handler := &recorder{starts: map[string]uuid.UUID{"7": automation}, fail: 1}
	worker := inbox.NewProcessor(h.inbox, handler, nil)
	if code := h.send("s3cret", made.Integration.ID, "d-1", opened); code != "" {
		t.Fatal(code)
	}
	if code := h.send("s3cret", made.Integration.ID, "d-2", strings.ReplaceAll(opened, "7", "8")); code != "" {
		t.Fatal(code)
	}
	tasks := h.queue.take()
	for range 2 { // the second time has no effect
		for _, task := range tasks {
			h.must(worker.Process(t.Context(), task))
		}
	}
	if len(handler.got) != 1 {
		t.Fatalf("the handler got %d events", len(handler.got))
	}
	if pending, err := worker.Pending(t.Context()); err != nil || len(pending) != 0 {
		t.Errorf("pending at once: %v, %v", pending, err)
	}
	h.clock.advance(2 * time.Minute)
	pending, err := worker.Pending(t.Context())
	if err != nil || len(pending) != 1 || pending[0].Attempt != 1 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	h.must(worker.Process(t.Context(), pending[0]))
	byID := map[string]string{}
	for _, e := range h.events(ctx) {
		reason := ""
		if e.Reason != nil {
			reason = *e.Reason
		}
		byID[e.ProviderEventID] = fmt.Sprint(e.Status, " ", reason, " ", e.AutomationIds, " ", e.ProcessedAt != nil)
	}
	if byID["d-1"] != fmt.Sprint("MATCHED  ", []uuid.UUID{automation}, " true") || byID["d-2"] != "IGNORED no automation matches [] true" {
		t.Errorf("the events are %v", byID)
	}
	e := handler.got[0]
	if e.Integration.ID != made.Integration.ID || e.Content.Object == nil || e.Content.Object.Parent != "Acme/Hooks" {
		t.Errorf("the handler got %+v", e)
	}
}

func TestAnEventThatAWorkerDroppedIsProcessedAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret")
	h.queue.broken = true
	if code := h.send("s3cret", made.Integration.ID, "d-1", opened); code != "" {
		t.Fatalf("refused without a queue: %s", code)
	}
	worker := inbox.NewProcessor(h.inbox, nil, nil)
	h.clock.advance(31 * time.Second)
	pending, err := worker.Pending(t.Context())
	if err != nil || len(pending) != 1 {
		t.Fatalf("pending: %v, %v", pending, err)
	}
	dead, cancel := context.WithCancel(t.Context())
	killed := inbox.NewProcessor(h.inbox, handlerFunc(func(ctx context.Context, _ inbox.Received) (inbox.Outcome, error) {
		cancel()
		return inbox.Outcome{}, ctx.Err()
	}), nil)
	if err := killed.Process(dead, pending[0]); err == nil {
		t.Error("a killed worker reported success")
	}
	h.clock.advance(time.Minute) // its claim ends
	pending, err = worker.Pending(t.Context())
	if err != nil || len(pending) != 1 || pending[0].Attempt != 1 {
		t.Fatalf("pending after the lease: %v, %v", pending, err)
	}
	h.must(worker.Process(t.Context(), pending[0]))
	if rows := h.events(ctx); rows[0].Status != inboundevent.StatusIgnored || rows[0].Attempts != 2 {
		t.Errorf("the event is %v", rows[0])
	}
}

type handlerFunc func(ctx context.Context, e inbox.Received) (inbox.Outcome, error)

func (f handlerFunc) HandleEvent(ctx context.Context, e inbox.Received) (inbox.Outcome, error) {
	return f(ctx, e)
}

func TestAnEventIsProcessedAgainOnRequestWhileItsPayloadIsKept(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret")
	if code := h.send("s3cret", made.Integration.ID, "d-1", opened); code != "" {
		t.Fatal(code)
	}
	handler := &recorder{}
	worker := inbox.NewProcessor(h.inbox, handler, nil)
	run := func() {
		for _, task := range h.queue.take() {
			h.must(worker.Process(t.Context(), task))
		}
	}
	run()
	id := h.events(ctx)[0].ID
	if e, err := h.inbox.Resend(ctx, id); err != nil || e.Status != inboundevent.StatusReceived {
		t.Fatalf("Resend = %v, %v", e, err)
	}
	run()
	if len(handler.got) != 2 {
		t.Errorf("the handler got %d events", len(handler.got))
	}
	h.clock.advance(31 * 24 * time.Hour)
	if swept, err := h.inbox.Sweep(t.Context()); err != nil || swept.Payloads != 1 || swept.Events != 0 {
		t.Errorf("swept: %+v, %v", swept, err)
	}
	if _, err := h.inbox.Resend(ctx, id); apierr.From(err).Code != apierr.Conflict {
		t.Errorf("without a payload: %v", err)
	}
	if code := h.send("s3cret", made.Integration.ID, "d-1", opened); code != "" || len(h.events(ctx)) != 1 {
		t.Errorf("a late repetition: %q, %d rows", code, len(h.events(ctx)))
	}
	h.clock.advance(400 * 24 * time.Hour)
	if swept, err := h.inbox.Sweep(t.Context()); err != nil || swept.Events != 1 {
		t.Errorf("swept after a year: %+v, %v", swept, err)
	}
}

// A storm of events that arrive while the queue works only for some of them. Each event
// is kept, and each is processed once.
func TestNothingIsLostInAStorm(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx := h.workspace()
	made := h.github(ctx, "s3cret")
	const events, senders = 10_000, 8
	var sent sync.WaitGroup
	start := time.Now()
	for s := range senders {
		sent.Go(func() {
			for i := s; i < events; i += senders {
				if code := h.send("s3cret", made.Integration.ID, fmt.Sprint(i), opened); code != "" {
					t.Errorf("event %d: %s", i, code)
				}
				if i == events/2 {
					h.queue.mu.Lock()
					h.queue.broken = true
					h.queue.mu.Unlock()
				}
			}
		})
	}
	sent.Wait()
	t.Logf("%d events stored in %s", events, time.Since(start).Round(time.Millisecond))
	handler := &recorder{}
	worker := inbox.NewProcessor(h.inbox, handler, nil)
	process := func(tasks []queue.Event) {
		var running sync.WaitGroup
		for w := range senders {
			running.Go(func() {
				for i := w; i < len(tasks); i += senders {
					if err := worker.Process(t.Context(), tasks[i]); err != nil {
						t.Error(err)
					}
				}
			})
		}
		running.Wait()
	}
	process(h.queue.take())
	queued := len(handler.got)
	for {
		h.clock.advance(31 * time.Second)
		pending, err := worker.Pending(t.Context())
		h.must(err)
		if len(pending) == 0 {
			break
		}
		process(pending)
	}
	t.Logf("%d were in the queue, the sweep found the others", queued)
	q, err := h.inbox.Events(ctx, &made.Integration.ID, []inboundevent.Status{inboundevent.StatusIgnored})
	h.must(err)
	if n, err := q.Count(ctx); err != nil || n != events || len(handler.got) != events || queued == events || queued == 0 {
		t.Errorf("%d events are done, the handler got %d, %d of them from the queue: %v", n, len(handler.got), queued, err)
	}
}
