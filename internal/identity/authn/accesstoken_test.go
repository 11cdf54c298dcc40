package authn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (h *fixture) personal(ctx context.Context, t testing.TB, draft authn.TokenDraft) *authn.CreatedToken {
	t.Helper()
	if draft.Name == "" {
		draft.Name = uuid.NewString()
	}
	made, err := h.accounts.CreatePersonalToken(ctx, draft)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// The form is documented for scanners of secrets (docs/tokens.md).
func TestAScannerRecognizesATokenWithoutACall(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	service, err := h.accounts.CreateServiceToken(owner, authn.TokenDraft{Name: "CI", Role: viewer.RoleEditor, Groups: []viewer.Group{"SEARCH", "CONNECTORS", "SEARCH"}})
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^mgp_(pat|svc)_[0-9A-Za-z]{36}$`)
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for _, made := range []*authn.CreatedToken{service, h.personal(owner, t, authn.TokenDraft{})} {
		text, sum := made.Secret[:len(made.Secret)-6], uint64(0)
		for _, c := range made.Secret[len(text):] {
			sum = sum*62 + uint64(strings.IndexRune(digits, c))
		}
		if !form.MatchString(made.Secret) || sum != uint64(crc32.ChecksumIEEE([]byte(text))) {
			t.Errorf("%s: the checksum is %d", made.Secret, sum)
		}
		if !strings.HasPrefix(made.Secret, made.Row.Hint) || len(made.Row.Hint) != 12 || bytes.Contains(made.Row.Hash, []byte(made.Secret)) {
			t.Errorf("%s: the row has %s %x", made.Secret, made.Row.Hint, made.Row.Hash)
		}
	}
	if fmt.Sprint(service.Row.Groups) != "[CONNECTORS SEARCH]" || service.Row.ExpiresAt != nil {
		t.Errorf("the service token has %v until %v", service.Row.Groups, service.Row.ExpiresAt)
	}
	v, err := h.accounts.Authenticate(t.Context(), service.Secret)
	if err != nil || v.Kind != viewer.KindService || v.Role != viewer.RoleEditor || v.Subject != service.Row.ID || v.Email != "" || !v.MayUse("SEARCH") || v.MayUse("KEYS") {
		t.Errorf("the service token is %+v, %v", v, err)
	}
}

func TestTheAuditLogHasTheCreationOfAServiceToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	made, err := h.accounts.CreateServiceToken(owner, authn.TokenDraft{Name: "CI", Role: viewer.RoleEditor, Groups: []viewer.Group{"SEARCH"}})
	if err != nil {
		t.Fatal(err)
	}
	v, _ := viewer.From(owner)
	entries, err := h.db.Ent.AuditEntry.Query().Where(auditentry.Action("token.create")).All(system(t))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%+v %v", entries, err)
	}
	e := entries[0]
	if e.WorkspaceID != v.Workspace || e.ActorID == nil || *e.ActorID != v.Subject || e.TargetKind != "token" || e.TargetID == nil || *e.TargetID != made.Row.ID || e.TargetName != "CI" {
		t.Errorf("%+v", e)
	}
	if changes := fmt.Sprint(e.Changes); !strings.Contains(changes, "EDITOR") || !strings.Contains(changes, "SEARCH") || strings.Contains(fmt.Sprint(e), made.Secret) {
		t.Errorf("the changes are %s", changes)
	}
}

func TestAMalformedTokenIsRefusedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	good := h.personal(owner, t, authn.TokenDraft{}).Secret
	h.db.Close()
	other := map[byte]byte{'x': 'y'}[good[10]]
	if other == 0 {
		other = 'x'
	}
	for name, bad := range map[string]string{
		"another digit": good[:10] + string(other) + good[11:], "another kind": "mgp_svc_" + good[8:], "cut off": good[:len(good)-1], "longer": good + "0",
		"no digits": "mgp_pat_", "other digits": "mgp_pat_" + strings.Repeat("-", 36), "without a checksum": "mgp_pat_" + strings.Repeat("A", 36), "a sign of NUL": good[:20] + "\x00" + good[21:],
	} {
		if _, err := h.accounts.Authenticate(t.Context(), bad); code(err) != apierr.Unauthorized || apierr.From(err).Message != "Invalid token" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.accounts.Authenticate(t.Context(), good); code(err) == apierr.Unauthorized {
		t.Errorf("the good one did not ask the database: %v", err)
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	node := h.accountsOf(t)
	try := func(secret string) error {
		_, err := node.Authenticate(t.Context(), secret)
		return err
	}
	soon, far := h.clock.now().Add(time.Hour), h.clock.now().Add(367*24*time.Hour)
	short := h.personal(owner, t, authn.TokenDraft{ExpiresAt: &soon})
	long := h.personal(owner, t, authn.TokenDraft{})
	if got := long.Row.ExpiresAt.Sub(h.clock.now()); got != authn.TokenLifetime {
		t.Errorf("the default lifetime is %s", got)
	}
	for name, at := range map[string]time.Time{"over a year": far, "in the past": h.clock.now()} {
		if _, err := h.accounts.CreatePersonalToken(owner, authn.TokenDraft{Name: "x", ExpiresAt: &at}); apierr.From(err).Field != "expiresAt" {
			t.Errorf("an expiry %s: %v", name, err)
		}
	}
	if err := errors.Join(try(short.Secret), try(long.Secret)); err != nil {
		t.Fatal(err)
	}
	h.clock.add(time.Hour)
	if err := try(short.Secret); code(err) != apierr.Unauthorized || apierr.From(err).Message != "The token has expired" {
		t.Errorf("after its expiry: %v", err)
	}
	if err := try(long.Secret); err != nil { // in the cache of the node
		t.Fatal(err)
	}
	if _, err := h.accounts.RevokeToken(owner, long.Row.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), long.Secret); code(err) != apierr.Unauthorized {
		t.Errorf("on the node of the revocation: %v", err)
	}
	h.clock.add(authn.CacheMaxAge)
	if err := try(long.Secret); code(err) != apierr.Unauthorized {
		t.Errorf("on another node a second later: %v", err)
	}
	row, err := h.db.Ent.Token.Get(owner, long.Row.ID)
	if err != nil || row.LastUsedAt == nil || h.accounts.TokenStatus(row) != authn.StatusRevoked {
		t.Errorf("the row is %v, %v", row, err)
	}
	again, err := h.accounts.RevokeToken(owner, long.Row.ID)
	if err != nil || !again.RevokedAt.Equal(*row.RevokedAt) {
		t.Errorf("a second revocation: %v, %v", again, err)
	}
}

func TestTokensOfAnAccountThatChangesHandsEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	v, _ := viewer.From(owner)
	first := h.personal(owner, t, authn.TokenDraft{})
	if err := h.accounts.ChangePassword(owner, password, "another horse battery"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), first.Secret); err != nil {
		t.Errorf("after a change of the password by the person: %v", err)
	}
	reset, _, err := h.accounts.CreateReset(owner, v.Subject, uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.UseReset(t.Context(), reset, "a third horse battery"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), first.Secret); code(err) != apierr.Unauthorized {
		t.Errorf("after a password link: %v", err)
	}
	second := h.personal(owner, t, authn.TokenDraft{})
	person, err := h.accounts.FindPerson(t.Context(), "ada@example.com")
	if err == nil {
		err = h.accounts.MarkVerified(t.Context(), person, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), second.Secret); code(err) != apierr.Unauthorized {
		t.Errorf("after the provider vouched for the owner of the address: %v", err)
	}
}

func TestTokensAreBoundedInNumberAndHaveNames(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	first := h.personal(owner, t, authn.TokenDraft{Name: " CI "})
	for name, want := range map[string]apierr.Code{"ci": apierr.Conflict, " ": apierr.InvalidRequest, strings.Repeat("x", 201): apierr.InvalidRequest, "a\x00b": apierr.InvalidRequest} {
		if _, err := h.accounts.CreatePersonalToken(owner, authn.TokenDraft{Name: name}); code(err) != want {
			t.Errorf("the name %.10q: %v", name, err)
		}
	}
	if _, err := h.accounts.CreateServiceToken(owner, authn.TokenDraft{Name: "CI", Role: viewer.RoleViewer, Groups: []viewer.Group{"SEARCH"}}); err != nil {
		t.Errorf("the same name for a service token: %v", err)
	}
	for range authn.MaxPersonalTokens - 1 {
		h.personal(owner, t, authn.TokenDraft{})
	}
	if _, err := h.accounts.CreatePersonalToken(owner, authn.TokenDraft{Name: "One more"}); code(err) != apierr.Conflict {
		t.Errorf("token %d: %v", authn.MaxPersonalTokens+1, err)
	}
	if _, err := h.accounts.RevokeToken(owner, first.Row.ID); err != nil {
		t.Fatal(err)
	}
	h.personal(owner, t, authn.TokenDraft{Name: "ci"})
	h.clock.add(2 * authn.TokenLifetime)
	h.personal(owner, t, authn.TokenDraft{Name: "Later"})
	if rows, err := h.accounts.MyTokens(owner); err != nil || len(rows) != authn.MaxPersonalTokens+1 {
		t.Errorf("before the end of their retention %d tokens are listed, %v", len(rows), err)
	}
	h.clock.add(time.Minute)
	h.personal(owner, t, authn.TokenDraft{Name: "Last"})
	if rows, err := h.accounts.MyTokens(owner); err != nil || len(rows) != 2 {
		t.Errorf("after their retention %d tokens are listed, %v", len(rows), err)
	}
}

func TestEachTokenHasARateLimitOfItsOwn(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	limited, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), h.clock.now,
		authn.WithTokenLimit(ratelimit.New(ratelimit.Options{Now: h.clock.now}), 2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limited.Close)
	one, two := h.personal(owner, t, authn.TokenDraft{}), h.personal(owner, t, authn.TokenDraft{})
	for i, secret := range []string{one.Secret, one.Secret, one.Secret, two.Secret} {
		_, err := limited.Authenticate(t.Context(), secret)
		if refused := code(err) == apierr.RateLimited && apierr.From(err).RetryAfter > 0; refused != (i == 2) || err != nil && !refused {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestOpenConnectionsSeeTheRoleOfAToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	v, _ := viewer.From(owner)
	if _, err := h.accounts.AddMember(t.Context(), v.Workspace, "bob@example.com", "", password, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	bob := h.personal(viewer.With(t.Context(), h.signIn(t, "bob@example.com")), t, authn.TokenDraft{})
	soon := h.clock.now().Add(time.Minute)
	low, short := h.personal(owner, t, authn.TokenDraft{Role: viewer.RoleEditor}), h.personal(owner, t, authn.TokenDraft{ExpiresAt: &soon})
	service, err := h.accounts.CreateServiceToken(owner, authn.TokenDraft{Name: "CI", Role: viewer.RoleAdmin, Groups: []viewer.Group{"SEARCH"}})
	if err != nil {
		t.Fatal(err)
	}
	ids := []uuid.UUID{v.Session, bob.Row.ID, low.Row.ID, short.Row.ID, service.Row.ID, uuid.New()}
	roles, err := h.accounts.Roles(t.Context(), ids)
	want := map[uuid.UUID]viewer.Role{v.Session: viewer.RoleOwner, bob.Row.ID: viewer.RoleViewer, low.Row.ID: viewer.RoleEditor, short.Row.ID: viewer.RoleOwner, service.Row.ID: viewer.RoleAdmin}
	if err != nil || fmt.Sprint(roles) != fmt.Sprint(want) {
		t.Errorf("the roles are %v, %v", roles, err)
	}
	if _, err := h.accounts.RevokeToken(owner, bob.Row.ID); err != nil {
		t.Fatal(err)
	}
	h.clock.add(time.Minute)
	if roles, err = h.accounts.Roles(t.Context(), ids); err != nil || len(roles) != 3 || roles[bob.Row.ID] != "" || roles[short.Row.ID] != "" {
		t.Errorf("after the end of two they are %v, %v", roles, err)
	}
}

// The holder of a token can always end it.
func TestATokenIsRevokedThoughItIsOfNoUse(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	owner, _ := h.workspace(t, "ada@example.com")
	limited, err := authn.NewAccounts(h.db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), h.clock.now,
		authn.WithTokenLimit(ratelimit.New(ratelimit.Options{Now: h.clock.now}), 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(limited.Close)
	busy, idle := h.personal(owner, t, authn.TokenDraft{}), h.personal(owner, t, authn.TokenDraft{})
	for range 2 {
		_, err = limited.Authenticate(t.Context(), busy.Secret)
	}
	if code(err) != apierr.RateLimited {
		t.Fatalf("%v", err)
	}
	suspended := viewer.WithSuspended(system(t))
	if err := h.db.Ent.Membership.Update().SetSuspendedAt(h.clock.now()).Exec(suspended); err != nil {
		t.Fatal(err)
	}
	v, _ := viewer.From(owner)
	for _, made := range []*authn.CreatedToken{busy, idle} {
		for range 2 { // a second time does no harm
			if err := limited.RevokePresented(t.Context(), made.Secret); err != nil {
				t.Error(err)
			}
		}
		if row, err := h.db.Ent.Token.Get(system(t), made.Row.ID); err != nil || row.RevokedAt == nil {
			t.Errorf("%v %v", row, err)
		}
	}
	entries, err := h.db.Ent.AuditEntry.Query().Where(auditentry.Action("token.revoke")).All(system(t))
	if err != nil || len(entries) != 2 || entries[0].ActorID == nil || *entries[0].ActorID != v.Subject || entries[0].ActorName != "ada@example.com" || entries[0].WorkspaceID != v.Workspace {
		t.Errorf("%+v %v", entries, err)
	}
	for _, unknown := range []string{"mgp_pat_x", busy.Secret + "0"} {
		if err := limited.RevokePresented(t.Context(), unknown); err != nil {
			t.Error(err)
		}
	}
}
