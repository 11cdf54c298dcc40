package inbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/event/provider"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// fakeQueue holds tasks by id, as the queue does, or refuses them.
type fakeQueue struct {
	mu     sync.Mutex
	tasks  map[string]queue.Event
	broken bool
}

var errQueue = errors.New("the queue is away")

func (q *fakeQueue) Enqueue(_ context.Context, t queue.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := t.(queue.Event)
	if !ok || q.broken {
		return errQueue
	}
	q.tasks[t.ID()] = e
	return nil
}

func (q *fakeQueue) take() []queue.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []queue.Event
	for id, t := range q.tasks {
		out = append(out, t)
		delete(q.tasks, id)
	}
	return out
}

type fixture struct {
	t         *testing.T
	db        *store.DB
	clock     *clock
	queue     *fakeQueue
	providers []event.Provider
	inbox     *inbox.Inbox
}

func newFixture(t *testing.T, more ...event.Provider) *fixture {
	t.Helper()
	h := &fixture{t: t, clock: &clock{at: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}, queue: &fakeQueue{tasks: map[string]queue.Event{}}}
	var err error
	h.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	h.must(err)
	t.Cleanup(h.db.Close)
	h.providers = provider.All(provider.Deps{})
	for _, p := range more {
		h.providers = slices.DeleteFunc(h.providers, func(old event.Provider) bool { return old.Name == p.Name })
		h.providers = append(h.providers, p)
	}
	h.inbox = h.with(h.box("k"))
	return h
}

// box returns a Box with keys of some ids, the first of which seals. The same id has the same key.
func (h *fixture) box(ids ...string) *secret.Box {
	h.t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		keys[id] = bytes.Repeat([]byte(id[:1]), secret.KeyBytes)
	}
	box, err := secret.NewBox(keys, ids[0])
	h.must(err)
	return box
}

// with returns the inbox of a process with these keys.
func (h *fixture) with(box *secret.Box) *inbox.Inbox {
	return inbox.New(inbox.Options{
		Ent: h.db.Ent, Pool: h.db.Pool, Providers: h.providers, Box: box, Queue: h.queue, BaseURL: "https://magpie.example.com", Now: h.clock.now,
		Log: slog.New(slog.NewTextHandler(h.t.Output(), nil)),
	})
}

func (h *fixture) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// workspace returns a context of Magpie itself in a new workspace.
func (h *fixture) workspace() context.Context {
	h.t.Helper()
	row, err := h.db.Ent.Workspace.Create().SetName("W").Save(viewer.With(h.t.Context(), viewer.System(uuid.Nil)))
	h.must(err)
	return viewer.With(h.t.Context(), viewer.System(row.ID))
}

func (h *fixture) create(ctx context.Context, d inbox.Draft) inbox.Shown {
	h.t.Helper()
	d.Name = "Hooks"
	made, err := h.inbox.Create(ctx, d)
	h.must(err)
	return made
}

// github creates an integration of GitHub for an organization.
func (h *fixture) github(ctx context.Context, word string, repositories ...any) inbox.Shown {
	h.t.Helper()
	return h.create(ctx, inbox.Draft{Provider: "github", Config: map[string]any{"repositories": repositories}, Credentials: map[string]any{"secret": word}})
}

// send delivers a signed event of GitHub. The code is empty on success.
func (h *fixture) send(word string, to uuid.UUID, id, body string) apierr.Code {
	h.t.Helper()
	_, err := h.inbox.Receive(h.t.Context(), "github", to, signed(word, id, body))
	if err != nil {
		return apierr.From(err).Code
	}
	return ""
}

func signed(word, id, body string) *event.Request {
	header := http.Header{}
	header.Set("X-Github-Event", "issues")
	header.Set("X-Github-Delivery", id)
	header.Set("X-Hub-Signature-256", "sha256="+hexMAC(word, body))
	return &event.Request{Header: header, Body: []byte(body), URL: "https://magpie.example.com/"}
}

func (h *fixture) row(ctx context.Context, id uuid.UUID) *ent.InboundIntegration {
	h.t.Helper()
	row, err := h.inbox.Get(ctx, id)
	h.must(err)
	return row
}

func (h *fixture) events(ctx context.Context) []*ent.InboundEvent {
	h.t.Helper()
	q, err := h.inbox.Events(ctx, nil, nil)
	h.must(err)
	rows, err := q.All(ctx)
	h.must(err)
	return rows
}

func base64MAC(secret, text string) string {
	return base64.StdEncoding.EncodeToString(event.MAC(secret, []byte(text)))
}

// settingsWithKey returns settings with a new key of a service account.
func settingsWithKey(t *testing.T) connectors.Settings {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	text, err := json.Marshal(map[string]string{"client_email": "reader@acme.iam.gserviceaccount.com", "private_key": string(block)})
	if err != nil {
		t.Fatal(err)
	}
	return connectors.Settings{Config: map[string]any{"impersonate": "ada@example.com"}, Credentials: map[string]string{"key": string(text)}}
}
