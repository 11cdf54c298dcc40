package authn_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type fixture struct {
	urls     *testkit.DB
	db       *store.DB
	accounts *authn.Accounts
	keys     *authn.Keys
	clock    *clock
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	urls := testkit.Database(t)
	db, err := store.Open(t.Context(), urls.AppURL, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	c := &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	h := &fixture{urls: urls, db: db, clock: c}
	h.accounts = h.accountsOf(t)
	h.keys = h.node(t)
	return h
}

// accountsOf returns the accounts of another process.
func (h *fixture) accountsOf(t testing.TB) *authn.Accounts {
	t.Helper()
	a, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), h.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// node returns the keys of another process.
func (h *fixture) node(t testing.TB, options ...authn.KeyOption) *authn.Keys {
	t.Helper()
	k := authn.NewKeys(h.db.Ent, h.clock.now, options...)
	t.Cleanup(k.Close)
	return k
}

const password = "correct horse battery"

// workspace creates a workspace with an owner and a collection.
func (h *fixture) workspace(t testing.TB, email string) (context.Context, *ent.Collection) {
	t.Helper()
	if _, err := h.accounts.CreateOwner(t.Context(), "Workspace of "+email, email, "Owner", password); err != nil {
		t.Fatal(err)
	}
	ctx := viewer.With(t.Context(), h.signIn(t, email))
	c, err := h.db.Ent.Collection.Create().SetName("Docs").SetEmbeddingModel("m").Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, c
}

func (h *fixture) signIn(t testing.TB, email string) viewer.Viewer {
	t.Helper()
	tokens, err := h.accounts.SignIn(t.Context(), email, password)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.accounts.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	v.Surface = viewer.SurfaceDashboard
	return v
}

func TestSignInReturnsAViewerOfTheWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	v := h.signIn(t, " Ada@Example.com ")
	if v.Kind != viewer.KindSession || v.Role != viewer.RoleOwner || v.Email != "ada@example.com" || !v.AllCollections || v.Workspace == uuid.Nil {
		t.Fatalf("viewer = %+v", v)
	}
	for name, try := range map[string][2]string{
		"wrong password": {"ada@example.com", "correct horse batterz"}, "unknown person": {"bob@example.com", password}, "nothing": {"", ""},
	} {
		_, err := h.accounts.SignIn(t.Context(), try[0], try[1])
		if code(err) != apierr.InvalidCredentials || apierr.From(err).Message != "Email or password is wrong" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.accounts.CreateOwner(t.Context(), "Second", "ada@example.com", "", password); code(err) != apierr.Conflict {
		t.Errorf("the same address again: %v", err)
	}
}

func TestAccessTokensExpireAndCannotBeForged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	tokens, err := h.accounts.SignIn(t.Context(), "ada@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	if got := tokens.ExpiresAt.Sub(h.clock.now()); got != 15*time.Minute {
		t.Errorf("the access token lives %v", got)
	}
	other, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{8}, 32), h.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Authenticate(t.Context(), tokens.Access); code(err) != apierr.Unauthorized {
		t.Errorf("under another key: %v", err)
	}
	for _, token := range []string{"", "x", tokens.Refresh, tokens.Access + "x", "eyJhbGciOiJub25lIn0.e30."} {
		if _, err := h.accounts.Authenticate(t.Context(), token); code(err) != apierr.Unauthorized {
			t.Errorf("%q: %v", token, err)
		}
	}
	h.clock.add(15*time.Minute + time.Second)
	if _, err := h.accounts.Authenticate(t.Context(), tokens.Access); code(err) != apierr.Unauthorized {
		t.Errorf("after its time: %v", err)
	}
}

// While the key changes, some nodes sign with the old one and some with the new one. Each
// accepts the tokens of the others; without the old key, its tokens end.
func TestAChangeOfTheKeyEndsNoSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	oldKey, newKey := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)
	node := func(signs []byte, older ...[]byte) *authn.Accounts {
		a, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), signs, h.clock.now, authn.WithOlderKeys(older))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		return a
	}
	prepared, changed, ended := node(oldKey, newKey), node(newKey, oldKey), node(newKey)
	tokens, err := h.accounts.SignIn(t.Context(), "ada@example.com", password) // by the old key
	if err != nil {
		t.Fatal(err)
	}
	old := tokens
	for turn, a := range []*authn.Accounts{prepared, changed, prepared, changed, ended} {
		if turn < 4 {
			if _, err := a.Authenticate(t.Context(), tokens.Access); err != nil {
				t.Errorf("turn %d: access: %v", turn, err)
			}
		}
		if tokens, err = a.Refresh(t.Context(), tokens.Refresh); err != nil {
			t.Fatalf("turn %d: refresh: %v", turn, err)
		}
	}
	if _, err := ended.Authenticate(t.Context(), tokens.Access); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
	if _, err := ended.Authenticate(t.Context(), old.Access); code(err) != apierr.Unauthorized {
		t.Errorf("a token of the removed key: %v", err)
	}
}

func TestARefreshTokenWorksOnceAndItsCopyEndsTheSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	first, err := h.accounts.SignIn(t.Context(), "ada@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.accounts.Refresh(t.Context(), first.Refresh)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), second.Access); err != nil {
		t.Fatalf("the new access token: %v", err)
	}
	h.clock.add(authn.RefreshGrace)
	if _, err := h.accounts.Refresh(t.Context(), first.Refresh); code(err) != apierr.Unauthorized {
		t.Fatalf("the old refresh token again: %v", err)
	}
	if _, err := h.accounts.Refresh(t.Context(), second.Refresh); code(err) != apierr.Unauthorized {
		t.Fatalf("the session went on after its token had been copied: %v", err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), second.Access); code(err) != apierr.Unauthorized {
		t.Fatalf("the access token outlived its session: %v", err)
	}
}

func TestSigningOutEndsTheSessionAtOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	tokens, err := h.accounts.SignIn(t.Context(), "ada@example.com", password)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.accounts.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.SignOut(viewer.With(t.Context(), v)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), tokens.Access); code(err) != apierr.Unauthorized {
		t.Errorf("the access token: %v", err)
	}
	if _, err := h.accounts.Refresh(t.Context(), tokens.Refresh); code(err) != apierr.Unauthorized {
		t.Errorf("the refresh token: %v", err)
	}
	if err := h.accounts.SignOut(t.Context()); code(err) != apierr.Unauthorized {
		t.Errorf("signing nobody out: %v", err)
	}
}

func newKey(c *ent.Collection) authn.KeyDraft {
	return authn.KeyDraft{Name: "Site", Collections: []uuid.UUID{c.ID}, Hosts: []string{"example.com"}}
}

func TestBothKeysOfAPairAreAccepted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	made, err := h.keys.Create(ctx, newKey(c))
	if err != nil {
		t.Fatal(err)
	}
	for presented, publishable := range map[string]bool{made.Publishable: true, made.Secret: false} {
		k, err := h.keys.Authenticate(t.Context(), presented)
		if err != nil {
			t.Fatal(err)
		}
		if k.Publishable != publishable || k.Viewer.Secret == publishable || k.Viewer.Kind != viewer.KindKey ||
			k.Viewer.AllCollections || !slices.Equal(k.Viewer.Collections, []uuid.UUID{c.ID}) || k.Viewer.Surface != viewer.SurfacePublic {
			t.Errorf("key = %+v", k)
		}
		swapped := authn.SecretPrefix + presented[len(authn.SecretPrefix):]
		if publishable {
			if _, err := h.keys.Authenticate(t.Context(), swapped); code(err) != apierr.InvalidKey {
				t.Errorf("a publishable key under the secret prefix: %v", err)
			}
		}
	}
	if _, err := h.keys.Authenticate(t.Context(), ""); code(err) != apierr.Unauthorized || apierr.From(err).Message != "API key required" {
		t.Errorf("no key: %v", err)
	}
	for _, presented := range []string{"x", "svc_pk_", "svc_sk_" + string(bytes.Repeat([]byte{'a'}, 43)), made.Secret + "x"} {
		if _, err := h.keys.Authenticate(t.Context(), presented); code(err) != apierr.InvalidKey || apierr.From(err).Message != "Invalid API key" {
			t.Errorf("%q: %v", presented, err)
		}
	}
}

func TestKeysEndByExpiryAndByRevocation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	in := newKey(c)
	expires := h.clock.now().Add(time.Hour)
	in.ExpiresAt = &expires
	made, err := h.keys.Create(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	lasting, err := h.keys.Create(ctx, newKey(c))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.keys.Revoke(ctx, lasting.Row.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.keys.Authenticate(t.Context(), lasting.Secret); code(err) != apierr.InvalidKey {
		t.Errorf("a revoked key: %v", err)
	}
	h.clock.add(time.Hour)
	if _, err := h.keys.Authenticate(t.Context(), made.Publishable); code(err) != apierr.KeyExpired || apierr.From(err).Message != "API key has expired" {
		t.Errorf("an expired key: %v", err)
	}
}

func TestAKeyStaysInsideItsWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, mine := h.workspace(t, "ada@example.com")
	eve, theirs := h.workspace(t, "eve@example.com")
	if _, err := h.keys.Create(eve, newKey(mine)); code(err) != apierr.CodeNotFound {
		t.Errorf("a key on a foreign collection: %v", err)
	}
	in := newKey(theirs)
	in.Default = &mine.ID
	if _, err := h.keys.Create(eve, in); err == nil {
		t.Error("a key with a foreign default collection was made")
	}
	in.AllCollections = true
	if _, err := h.keys.Create(eve, in); code(err) != apierr.CodeNotFound {
		t.Errorf("a key with a foreign default collection: %v", err)
	}
	made, err := h.keys.Create(ada, newKey(mine))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.keys.Revoke(eve, made.Row.ID); code(err) != apierr.CodeNotFound {
		t.Errorf("revoking a foreign key: %v", err)
	}
	if _, err := h.keys.Create(t.Context(), newKey(mine)); err == nil {
		t.Error("nobody made a key")
	}
	k, err := h.keys.Authenticate(t.Context(), made.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.keys.Create(viewer.With(t.Context(), k.Viewer), newKey(mine)); err == nil {
		t.Error("a key made a key")
	}
}

func TestANewKeyIsChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ctx, c := h.workspace(t, "ada@example.com")
	past, negative := h.clock.now(), -1
	for field, change := range map[string]func(*authn.KeyDraft){
		"name":               func(k *authn.KeyDraft) { k.Name = " " },
		"allowedHosts":       func(k *authn.KeyDraft) { k.Hosts = []string{" "} },
		"allowedCollections": func(k *authn.KeyDraft) { k.Collections = nil },
		"allowedReferers":    func(k *authn.KeyDraft) { k.Referers = []string{"example.com/docs"} },
		"expiresAt":          func(k *authn.KeyDraft) { k.ExpiresAt = &past },
		"rateLimitPerMinute": func(k *authn.KeyDraft) { k.RatePerMinute = &negative },
	} {
		in := newKey(c)
		change(&in)
		_, err := h.keys.Create(ctx, in)
		if e := apierr.From(err); err == nil || e.Code != apierr.InvalidRequest || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestRolesAreEnforcedInTheDataLayer(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, c := h.workspace(t, "ada@example.com")
	owner, _ := viewer.From(ada)
	if _, err := h.accounts.AddMember(t.Context(), owner.Workspace, "vic@example.com", "", password, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	vic := viewer.With(t.Context(), h.signIn(t, "vic@example.com"))
	if _, err := h.db.Ent.Collection.Get(vic, c.ID); err != nil {
		t.Errorf("a viewer reads: %v", err)
	}
	if err := h.db.Ent.Collection.UpdateOneID(c.ID).SetName("Mine").Exec(vic); err == nil {
		t.Error("a viewer wrote a collection")
	}
	if _, err := h.keys.Create(vic, newKey(c)); err == nil {
		t.Error("a viewer made a key")
	}
}
