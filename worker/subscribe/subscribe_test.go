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

// A platform is a source with subscriptions.
type platform struct {
	mu        sync.Mutex
	requests  []string // address and secret of each request
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
	p.requests = append(p.requests, address+" "+secret)
	return connectors.Subscription{ID: "s1", Expires: p.expires}, nil
}

func (p *platform) Unsubscribe(_ context.Context, s connectors.Subscription) error {
	p.ended = append(p.ended, s.ID)
	return p.err
}

// OpenSource implements subscribe.Opener.
func (p *platform) OpenSource(context.Context, *ent.Connector) (connectors.Source, func(string) string, error) {
	return p, func(text string) string { return "redacted: " + text }, p.openError
}

type fixture struct {
	t        *testing.T
	db       *store.DB
	box      *secret.Box
	platform *platform
	now      time.Time
	inside   context.Context
	row      *ent.Connector
	base     string
}

func newFixture(t *testing.T, credentials string) *fixture {
	t.Helper()
	f := &fixture{t: t, platform: &platform{}, now: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC), base: "https://magpie.example.com/"}
	var err error
	f.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 6)
	f.must(err)
	t.Cleanup(f.db.Close)
	f.box, err = secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	f.must(err)
	workspace, err := f.db.Ent.Workspace.Create().SetName("W").Save(viewer.With(t.Context(), viewer.System(uuid.Nil)))
	f.must(err)
	f.inside = viewer.With(t.Context(), viewer.System(workspace.ID))
	collection, err := f.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("builtin").Save(f.inside)
	f.must(err)
	id := gid.New(gid.Connector)
	create := f.db.Ent.Connector.Create().SetID(id).SetName("K").SetType("teller").SetCollectionID(collection.ID).
		SetConfig(map[string]any{connectors.SubscriptionField: true})
	if credentials != "" {
		sealed, err := f.box.Seal([]byte(credentials), secret.AAD("connectors", id.String()))
		f.must(err)
		create.SetCredentials(sealed)
	}
	f.row, err = create.Save(f.inside)
	f.must(err)
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// keep calls Keep some time later.
func (f *fixture) keep(later time.Duration) int {
	f.t.Helper()
	f.now = f.now.Add(later)
	n, err := f.engine().Keep(f.t.Context())
	f.must(err)
	return n
}

func (f *fixture) engine() *subscribe.Engine {
	f.t.Helper()
	kinds, err := connectors.NewRegistry(connectors.Kind{
		Name: "teller", Title: "Teller",
		Credentials: []connectors.Option{{Name: "hook", Title: "Secret", Type: connectors.TypeString, Sensitive: true}},
		Webhook:     &connectors.Webhook{Secret: "hook", Subscribes: true},
		New:         func(context.Context, connectors.Settings) (connectors.Source, error) { return f.platform, nil },
	})
	f.must(err)
	return subscribe.New(f.db.Ent, f.db.Pool, kinds, f.box, f.platform, subscribe.Options{
		BaseURL: f.base, Now: func() time.Time { return f.now }, Log: slog.New(slog.NewTextHandler(f.t.Output(), nil)),
	})
}

func (f *fixture) address() string {
	return "https://magpie.example.com/webhooks/connectors/teller/" + f.row.ID.String()
}

func TestASubscriptionIsCreatedAndRenewed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"hook":"word"}`)
	f.platform.expires = f.now.Add(3 * time.Hour)
	for _, step := range []struct {
		later    time.Duration
		requests int
	}{{0, 1}, {time.Hour, 1}, {time.Hour, 2}} {
		f.keep(step.later)
		if len(f.platform.requests) != step.requests {
			t.Fatalf("%d requests, want %d", len(f.platform.requests), step.requests)
		}
	}
	if f.platform.requests[0] != f.address()+" word" || f.platform.requests[1] != f.platform.requests[0] {
		t.Errorf("requests %q", f.platform.requests)
	}
}

func TestASecretIsGeneratedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "")
	f.keep(0)
	f.keep(7 * time.Hour)
	if len(f.platform.requests) != 2 || f.platform.requests[0] != f.platform.requests[1] || len(f.platform.requests[0]) != len(f.address())+1+43 {
		t.Fatalf("requests %q", f.platform.requests)
	}
	var sealed []byte
	f.must(f.db.Pool.QueryRow(t.Context(), "select secret from connector_subscriptions").Scan(&sealed))
	plain, err := credential.NewVault(f.box).OpenWebhookSecret(f.row.ID, sealed)
	if err != nil || f.address()+" "+plain != f.platform.requests[0] {
		t.Errorf("the stored secret differs: %v", err)
	}
}

func TestAFailureIsShownAndRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"hook":"word"}`)
	f.platform.err = errors.New("no right to")
	f.keep(0)
	var reason *string
	f.must(f.db.Pool.QueryRow(t.Context(), "select error from connector_subscriptions").Scan(&reason))
	if reason == nil || *reason != "redacted: no right to" {
		t.Errorf("the reason is %v", reason)
	}
	if n := f.keep(30 * time.Second); n != 0 {
		t.Error("retried before the backoff was over")
	}
	f.platform.err = nil
	if n := f.keep(time.Minute); n != 1 || len(f.platform.requests) != 1 {
		t.Errorf("Keep = %d with %d requests, want 1 and 1", n, len(f.platform.requests))
	}
	f.must(f.db.Pool.QueryRow(t.Context(), "select error from connector_subscriptions").Scan(&reason))
	if reason != nil {
		t.Errorf("the reason is still %q", *reason)
	}
}

func TestASubscriptionEndsWhenTheConnectorDoesNotWantIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"hook":"word"}`)
	f.keep(0)
	f.must(f.db.Ent.Connector.UpdateOne(f.row).SetConfig(map[string]any{}).Exec(f.inside))
	if n := f.keep(time.Minute); n != 1 || len(f.platform.ended) != 1 || f.platform.ended[0] != "s1" {
		t.Errorf("Keep = %d, ended %q", n, f.platform.ended)
	}
	if n := f.keep(time.Minute); n != 0 {
		t.Errorf("Keep = %d, want 0", n)
	}
}

func TestASubscriptionFollowsTheBaseURL(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{"hook":"word"}`)
	f.keep(0)
	f.base = "https://other.example.com"
	f.keep(time.Minute)
	if len(f.platform.requests) != 2 || f.platform.requests[1] == f.platform.requests[0] {
		t.Errorf("requests %q", f.platform.requests)
	}
}

func TestASubscriptionEndsWithItsConnector(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"": nil, "the platform refuses": errors.New("no right to")} {
		f := newFixture(t, `{"hook":"word"}`)
		f.keep(0)
		f.must(f.db.Ent.Connector.UpdateOne(f.row).SetDeletingAt(f.now).Exec(f.inside))
		f.platform.err = refusal
		f.must(f.engine().End(t.Context(), uuid.New(), f.row.ID))
		if len(f.platform.ended) != 0 {
			t.Error("another workspace ended it")
		}
		f.must(f.engine().End(t.Context(), f.row.WorkspaceID, f.row.ID))
		f.must(f.engine().End(t.Context(), f.row.WorkspaceID, f.row.ID))
		if len(f.platform.ended) != 1 || f.platform.ended[0] != "s1" {
			t.Errorf("%s: %q ended", name, f.platform.ended)
		}
		if n := f.keep(7 * time.Hour); n != 0 {
			t.Errorf("%s: Keep = %d, want 0", name, n)
		}
	}
}
