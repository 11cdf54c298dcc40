package subscribe_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/subscribe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// platform gives subscriptions, and is the source too.
type platform struct {
	mu        sync.Mutex
	asked     []string // address and secret of each time
	ended     []string
	expires   time.Time
	err       error
	openError error
}

func (p *platform) Walk(context.Context, string) (connectors.Page, error) {
	return connectors.Page{Done: true}, nil
}
func (p *platform) Open(context.Context, connectors.Item) (io.ReadCloser, error) {
	return nil, connectors.ErrNotFound
}
func (p *platform) Check(context.Context) error { return nil }
func (p *platform) Close() error                { return nil }

func (p *platform) Subscribe(_ context.Context, address, secret string) (connectors.Subscription, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return connectors.Subscription{}, p.err
	}
	p.asked = append(p.asked, address+" "+secret)
	return connectors.Subscription{ID: "s1", Expires: p.expires}, nil
}

func (p *platform) Unsubscribe(_ context.Context, s connectors.Subscription) error {
	p.ended = append(p.ended, s.ID)
	return p.err
}

// OpenSource makes it the [subscribe.Opener], too.
func (p *platform) OpenSource(context.Context, *ent.Connector) (connectors.Source, func(string) string, error) {
	return p, func(text string) string { return "shown: " + text }, p.openError
}

type house struct {
	t        *testing.T
	db       *store.DB
	box      *secret.Box
	platform *platform
	now      time.Time
	inside   context.Context
	row      *ent.Connector
	base     string
}

func newHouse(t *testing.T, credentials string) *house {
	t.Helper()
	h := &house{t: t, platform: &platform{}, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), base: "https://magpie.example.com/"}
	var err error
	h.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 6)
	h.must(err)
	t.Cleanup(h.db.Close)
	h.box, err = secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	h.must(err)
	workspace, err := h.db.Ent.Workspace.Create().SetName("W").Save(viewer.With(t.Context(), viewer.System(uuid.Nil)))
	h.must(err)
	h.inside = viewer.With(t.Context(), viewer.System(workspace.ID))
	collection, err := h.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("builtin").Save(h.inside)
	h.must(err)
	id := gid.New(gid.Connector)
	create := h.db.Ent.Connector.Create().SetID(id).SetName("K").SetType("teller").SetCollectionID(collection.ID).
		SetConfig(map[string]any{connectors.SubscriptionField: true})
	if credentials != "" {
		sealed, err := h.box.Seal([]byte(credentials), secret.AAD("connectors", id.String()))
		h.must(err)
		create.SetCredentials(sealed)
	}
	h.row, err = create.Save(h.inside)
	h.must(err)
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// keep looks after subscriptions some time later.
func (h *house) keep(later time.Duration) int {
	h.t.Helper()
	h.now = h.now.Add(later)
	n, err := h.engine().Keep(h.t.Context())
	h.must(err)
	return n
}

func (h *house) engine() *subscribe.Engine {
	h.t.Helper()
	kinds, err := connectors.NewRegistry(connectors.Kind{
		Name: "teller", Title: "Teller",
		Credentials: []connectors.Option{{Name: "hook", Title: "Secret", Type: connectors.TypeString, Sensitive: true}},
		Webhook:     &connectors.Webhook{Secret: "hook", Subscribes: true},
		New:         func(context.Context, connectors.Settings) (connectors.Source, error) { return h.platform, nil },
	})
	h.must(err)
	return subscribe.New(h.db.Ent, h.db.Pool, kinds, h.box, h.platform, subscribe.Options{
		BaseURL: h.base, Now: func() time.Time { return h.now }, Log: slog.New(slog.NewTextHandler(h.t.Output(), nil)),
	})
}

func (h *house) address() string {
	return "https://magpie.example.com/webhooks/connectors/teller/" + h.row.ID.String()
}

func TestASubscriptionIsAskedForAndRenewed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{"hook":"word"}`)
	h.platform.expires = h.now.Add(3 * time.Hour)
	for _, step := range []struct {
		later time.Duration
		asked int
	}{{0, 1}, {time.Hour, 1}, {time.Hour, 2}} {
		h.keep(step.later)
		if len(h.platform.asked) != step.asked {
			t.Fatalf("asked %d times, not %d", len(h.platform.asked), step.asked)
		}
	}
	if h.platform.asked[0] != h.address()+" word" || h.platform.asked[1] != h.platform.asked[0] {
		t.Errorf("asked for %q", h.platform.asked)
	}
}

func TestASecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "")
	h.keep(0)
	h.keep(7 * time.Hour)
	if len(h.platform.asked) != 2 || h.platform.asked[0] != h.platform.asked[1] || len(h.platform.asked[0]) != len(h.address())+1+43 {
		t.Fatalf("asked for %q", h.platform.asked)
	}
	var sealed []byte
	h.must(h.db.Pool.QueryRow(t.Context(), "select secret from connector_subscriptions").Scan(&sealed))
	plain, err := credential.NewVault(h.box).OpenWebhookSecret(h.row.ID, sealed)
	if err != nil || h.address()+" "+plain != h.platform.asked[0] {
		t.Errorf("the secret that is kept is another one: %v", err)
	}
}

func TestAFailureIsShownAndTriedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{"hook":"word"}`)
	h.platform.err = errors.New("no right to")
	h.keep(0)
	var reason *string
	h.must(h.db.Pool.QueryRow(t.Context(), "select error from connector_subscriptions").Scan(&reason))
	if reason == nil || *reason != "shown: no right to" {
		t.Errorf("the reason is %v", reason)
	}
	if n := h.keep(30 * time.Second); n != 0 {
		t.Error("tried again at once")
	}
	h.platform.err = nil
	if n := h.keep(time.Minute); n != 1 || len(h.platform.asked) != 1 {
		t.Errorf("%d were looked after, asked %d times", n, len(h.platform.asked))
	}
	h.must(h.db.Pool.QueryRow(t.Context(), "select error from connector_subscriptions").Scan(&reason))
	if reason != nil {
		t.Errorf("the reason is still %q", *reason)
	}
}

func TestASubscriptionEndsWithTheWish(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{"hook":"word"}`)
	h.keep(0)
	h.must(h.db.Ent.Connector.UpdateOne(h.row).SetConfig(map[string]any{}).Exec(h.inside))
	if n := h.keep(time.Minute); n != 1 || len(h.platform.ended) != 1 || h.platform.ended[0] != "s1" {
		t.Errorf("%d were looked after, %q ended", n, h.platform.ended)
	}
	if n := h.keep(time.Minute); n != 0 {
		t.Errorf("%d are still looked after", n)
	}
}

func TestASubscriptionFollowsTheAddress(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{"hook":"word"}`)
	h.keep(0)
	h.base = "https://other.example.com"
	h.keep(time.Minute)
	if len(h.platform.asked) != 2 || h.platform.asked[1] == h.platform.asked[0] {
		t.Errorf("asked for %q", h.platform.asked)
	}
}

func TestASubscriptionEndsWithItsConnector(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"": nil, "the platform refuses": errors.New("no right to")} {
		h := newHouse(t, `{"hook":"word"}`)
		h.keep(0)
		h.must(h.db.Ent.Connector.UpdateOne(h.row).SetDeletingAt(h.now).Exec(h.inside))
		h.platform.err = refusal
		h.must(h.engine().End(t.Context(), uuid.New(), h.row.ID))
		if len(h.platform.ended) != 0 {
			t.Error("another workspace ended it")
		}
		h.must(h.engine().End(t.Context(), h.row.WorkspaceID, h.row.ID))
		h.must(h.engine().End(t.Context(), h.row.WorkspaceID, h.row.ID))
		if len(h.platform.ended) != 1 || h.platform.ended[0] != "s1" {
			t.Errorf("%s: %q ended", name, h.platform.ended)
		}
		if n := h.keep(7 * time.Hour); n != 0 {
			t.Errorf("%s: %d are still looked after", name, n)
		}
	}
}
