package access_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/access"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A platform lets people read items.
type platform struct {
	mu    sync.Mutex
	reads map[string]bool // address and item
	err   error
	// refusal is the error of opening it.
	refusal error
	wait    bool // until the caller gives up
	asked   [][]string
	opened  int
}

type openedPlatform struct{ *platform }

func (openedPlatform) Walk(context.Context, string) (connectors.Page, error) {
	return connectors.Page{Done: true}, nil
}

func (openedPlatform) Open(context.Context, connectors.Item) (io.ReadCloser, error) {
	return nil, connectors.ErrNotFound
}
func (openedPlatform) Check(context.Context) error { return nil }
func (openedPlatform) Close() error                { return nil }

func (p openedPlatform) VerifyAccess(ctx context.Context, email string, ids []string) (map[string]bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, ids)
	if p.wait {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	found := map[string]bool{}
	for _, id := range ids {
		found[id] = p.reads[email+" "+id]
	}
	return found, p.err
}

type fixture struct {
	*testing.T
	*platform
	db        *store.DB
	ctx       context.Context // of the owner
	workspace uuid.UUID
	row       *ent.Connector
	documents map[string]uuid.UUID // by item
	vault     credential.Vault
	verifier  *access.Verifier
	clock     time.Time
	log       bytes.Buffer // of the verifier, which works for one caller at a time here
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, platform: &platform{reads: map[string]bool{}}, documents: map[string]uuid.UUID{}, clock: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)}
	var err error
	f.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 4)
	f.must(err)
	t.Cleanup(f.db.Close)
	accounts, err := authn.NewAccounts(f.db.Ent, authn.NewPasswords(), []byte(strings.Repeat("k", 32)), nil)
	f.must(err)
	_, err = accounts.CreateOwner(t.Context(), "ada", "ada@example.com", "ada", "correct horse battery")
	f.must(err)
	tokens, err := accounts.SignIn(t.Context(), "ada@example.com", "correct horse battery")
	f.must(err)
	v, err := accounts.Authenticate(t.Context(), tokens.Access)
	f.must(err)
	f.ctx, f.workspace = viewer.With(t.Context(), v), v.Workspace
	kinds, err := connectors.NewRegistry(connectors.Kind{
		Name: "crm", Title: "CRM", Category: connectors.CategoryCRM, Permissions: true, VerifiesAccess: true,
		Credentials: []connectors.Option{{Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true}},
		New: func(context.Context, connectors.Settings) (connectors.Source, error) {
			f.opened++
			return openedPlatform{f.platform}, f.refusal
		},
	})
	f.must(err)
	box, err := secret.NewBox(map[string][]byte{"k": make([]byte, secret.KeyBytes)}, "k")
	f.must(err)
	f.vault = credential.NewVault(box)
	f.verifier = access.New(access.Options{
		Ent: f.db.Ent, Kinds: kinds, Vault: f.vault, Timeout: 300 * time.Millisecond, Now: func() time.Time { return f.clock },
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
	t.Cleanup(f.verifier.Close)
	collection, err := f.db.Ent.Collection.Create().SetName("Records").SetEmbeddingModel(embed.BuiltinModel).Save(f.ctx)
	f.must(err)
	connector := func(name string, verify bool) *ent.Connector {
		row, err := f.db.Ent.Connector.Create().SetName(name).SetType("crm").SetCollectionID(collection.ID).
			SetConfig(map[string]any{"include_permissions": true, "verifyAccess": verify}).Save(f.ctx)
		f.must(err)
		return row
	}
	f.row = connector("verified", true)
	other := connector("other", false)
	for item, row := range map[string]*ent.Connector{"a": f.row, "b": f.row, "c": f.row, "other": other} {
		d, err := f.db.Ent.Document.Create().SetCollectionID(collection.ID).SetConnectorID(row.ID).SetSourceID(item).SetPath(item).SetTitle(item).
			Save(viewer.With(t.Context(), viewer.System(f.workspace)))
		f.must(err)
		f.documents[item] = d.ID
	}
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// hidden returns the items of the documents that are hidden from a person.
func (f *fixture) hidden(email string) (items string, unanswered bool) {
	f.Helper()
	verdict, err := f.verifier.HiddenNow(f.ctx, f.workspace, email, slices.Collect(maps.Values(f.documents)))
	f.must(err)
	var list []string
	for item, id := range f.documents {
		if verdict.Hidden[id] {
			list = append(list, item)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " "), verdict.Unanswered
}

func (f *fixture) expect(what, email, want string, unanswered bool, questions int) {
	f.Helper()
	if got, no := f.hidden(email); got != want || no != unanswered || len(f.asked) != questions {
		f.Errorf("%s: hidden are %q, unanswered %v, after %d questions; want %q, %v, %d", what, got, no, len(f.asked), want, unanswered, questions)
	}
}

func TestThePlatformDecides(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if ok, err := f.verifier.Verifies(f.ctx, f.workspace); err != nil || !ok {
		t.Errorf("Verifies = %v, %v", ok, err)
	}
	if ok, err := f.verifier.Verifies(f.ctx, uuid.New()); err != nil || ok {
		t.Errorf("Verifies of another workspace = %v, %v", ok, err)
	}
	f.reads["ann@example.com a"], f.reads["ann@example.com b"] = true, true
	f.expect("at first", "ann@example.com", "c", false, 1)
	if got := strings.Join(f.asked[0], " "); got != "a b c" {
		t.Errorf("the platform was asked for %q", got)
	}
	f.reads["ann@example.com a"] = false
	f.expect("from the answers", "ann@example.com", "c", false, 1)
	f.expect("another person", "ben@example.com", "a b c", false, 2)
	f.expect("nobody", "", "a b c", false, 2)
	f.clock = f.clock.Add(access.AnswerAge)
	f.expect("later", "ann@example.com", "a c", false, 3)
	if f.opened != 1 {
		t.Errorf("the source was opened %d times", f.opened)
	}
}

func TestAPlatformThatFailsHides(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, item := range []string{"a", "b", "c"} {
		f.reads["ann@example.com "+item] = true
	}
	f.err = errors.New("busy")
	f.expect("while it fails", "ann@example.com", "a b c", true, 1)
	f.err = nil
	f.expect("at once afterwards", "ann@example.com", "a b c", true, 1)
	f.clock = f.clock.Add(10 * time.Second)
	f.expect("when it is asked again", "ann@example.com", "", false, 2)
	f.clock = f.clock.Add(access.AnswerAge)
	f.wait = true
	f.expect("while it does not answer", "ann@example.com", "a b c", true, 3)
}

// Errors of platforms and libraries may repeat a credential.
func TestCredentialsAreNotLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sealed, err := f.vault.Seal(f.row.ID, map[string]string{"token": "hunter2-hunter2"})
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	// A source that was opened is kept, so that opening it comes first.
	for _, step := range []struct {
		what string
		fail *error
	}{{"opening", &f.refusal}, {"asking", &f.err}} {
		f.log.Reset()
		*step.fail = errors.New("the platform refused Bearer hunter2-hunter2")
		f.hidden("ann@example.com")
		*step.fail = nil
		f.clock = f.clock.Add(access.AnswerAge)
		if text := f.log.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "the platform refused Bearer [hidden]") {
			t.Errorf("%s: %s", step.what, text)
		}
	}
}
