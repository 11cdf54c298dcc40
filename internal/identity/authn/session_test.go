package authn_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (h *fixture) tokens(t testing.TB, email string) authn.Tokens {
	t.Helper()
	tokens, err := h.accounts.SignIn(t.Context(), email, password)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestConcurrentRefreshesGetTheSameTokens(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	first := h.tokens(t, "ada@example.com")
	next := make([]string, 8)
	var tabs sync.WaitGroup
	for i := range next {
		tabs.Go(func() {
			tokens, err := h.accounts.Refresh(t.Context(), first.Refresh)
			if err != nil {
				t.Errorf("tab %d: %v", i, err)
			}
			next[i] = tokens.Refresh
		})
	}
	tabs.Wait()
	for _, token := range next {
		if token != next[0] || token == first.Refresh {
			t.Fatalf("the tabs got %q", next)
		}
	}
	if _, err := h.accounts.Refresh(t.Context(), next[0]); err != nil {
		t.Fatalf("the token that all of them have: %v", err)
	}
}

func TestAnyOldRefreshTokenEndsTheSession(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	for back := 1; back <= 4; back++ {
		tokens := h.tokens(t, "ada@example.com")
		other := h.tokens(t, "ada@example.com")
		var used []string
		for range 5 {
			used = append(used, tokens.Refresh)
			var err error
			if tokens, err = h.accounts.Refresh(t.Context(), tokens.Refresh); err != nil {
				t.Fatal(err)
			}
			h.clock.add(authn.RefreshGrace)
		}
		if _, err := h.accounts.Refresh(t.Context(), used[len(used)-back]); code(err) != apierr.Unauthorized {
			t.Errorf("the token %d before the last: %v", back, err)
		}
		if _, err := h.accounts.Refresh(t.Context(), tokens.Refresh); code(err) != apierr.Unauthorized {
			t.Errorf("the last token goes on after the one %d before it was used: %v", back, err)
		}
		if _, err := h.accounts.Authenticate(t.Context(), tokens.Access); code(err) != apierr.Unauthorized {
			t.Errorf("so does the access token: %v", err)
		}
		if _, err := h.accounts.Authenticate(t.Context(), other.Access); err != nil {
			t.Errorf("another session of hers: %v", err)
		}
	}
}

func TestRefreshTokensCannotBeForged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	tokens := h.tokens(t, "ada@example.com")
	raw, err := base64.RawURLEncoding.DecodeString(tokens.Refresh)
	if err != nil {
		t.Fatal(err)
	}
	for at := range raw {
		forged := append([]byte(nil), raw...)
		forged[at] ^= 1
		if _, err := h.accounts.Refresh(t.Context(), base64.RawURLEncoding.EncodeToString(forged)); code(err) != apierr.Unauthorized {
			t.Fatalf("byte %d changed: %v", at, err)
		}
	}
	for _, token := range []string{"", tokens.Access, tokens.Refresh + "A", tokens.Refresh[1:], strings.Repeat("A", len(tokens.Refresh)), strings.Repeat("A", 1<<20)} {
		if _, err := h.accounts.Refresh(t.Context(), token); code(err) != apierr.Unauthorized {
			t.Errorf("%.20q: %v", token, err)
		}
	}
	if _, err := h.accounts.Refresh(t.Context(), tokens.Refresh); err != nil {
		t.Errorf("the session did not outlive the forgers: %v", err)
	}
	h.clock.add(authn.RefreshLifetime + time.Second)
	if _, err := h.accounts.Refresh(t.Context(), tokens.Refresh); code(err) != apierr.Unauthorized {
		t.Errorf("after its time: %v", err)
	}
}

func TestPeopleSeeAndEndTheirOwnSessions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	h.workspace(t, "eve@example.com")
	phone := authn.WithClient(t.Context(), authn.ClientInfo{Address: "192.0.2.7", UserAgent: "Phone\n" + strings.Repeat("ä", 400)})
	h.clock.add(time.Hour)
	if _, err := h.accounts.SignIn(phone, "ada@example.com", password); err != nil {
		t.Fatal(err)
	}
	ada, eve := h.signIn(t, "ada@example.com"), h.signIn(t, "eve@example.com")
	rows, err := h.accounts.Sessions(viewer.With(t.Context(), ada))
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d sessions, %v", len(rows), err)
	}
	var other uuid.UUID
	for _, row := range rows {
		if row.Address == "192.0.2.7" {
			other = row.ID
			if !strings.HasPrefix(row.UserAgent, "Phone ä") || len([]rune(row.UserAgent)) != 300 {
				t.Errorf("%q", row.UserAgent)
			}
		}
	}
	if err := h.accounts.EndSession(viewer.With(t.Context(), eve), other); code(err) != apierr.CodeNotFound {
		t.Errorf("somebody else ends it: %v", err)
	}
	if err := h.accounts.EndSession(viewer.With(t.Context(), ada), other); err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.EndSession(viewer.With(t.Context(), ada), other); code(err) != apierr.CodeNotFound {
		t.Errorf("twice: %v", err)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), other); code(err) != apierr.Unauthorized {
		t.Errorf("it goes on: %v", err)
	}
	if err := h.accounts.SignOutEverywhere(viewer.With(t.Context(), ada)); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if _, err := h.accounts.SessionViewer(t.Context(), row.ID); code(err) != apierr.Unauthorized {
			t.Errorf("a session goes on: %v", err)
		}
	}
	if _, err := h.accounts.SessionViewer(t.Context(), eve.Session); err != nil {
		t.Errorf("somebody else's ended, too: %v", err)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), uuid.New()); code(err) != apierr.Unauthorized {
		t.Errorf("no session at all: %v", err)
	}
}

func TestAnotherNodeSeesASignOutInTime(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	other := h.accountsOf(t)
	tokens := h.tokens(t, "ada@example.com")
	v, err := other.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.accounts.SignOutEverywhere(viewer.With(t.Context(), v)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.Authenticate(t.Context(), tokens.Access); code(err) != apierr.Unauthorized {
		t.Errorf("here it goes on: %v", err)
	}
	h.clock.add(authn.CacheMaxAge)
	if _, err := other.Authenticate(t.Context(), tokens.Access); code(err) != apierr.Unauthorized {
		t.Errorf("there it goes on: %v", err)
	}
}

func TestTheUseOfASessionIsRecorded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	tokens := h.tokens(t, "ada@example.com")
	h.clock.add(5 * time.Minute)
	moved := authn.WithClient(t.Context(), authn.ClientInfo{Address: "192.0.2.9"})
	v, err := h.accounts.Authenticate(moved, tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	row, err := h.db.Ent.Session.Query().Where(session.ID(v.Session)).Only(viewer.With(t.Context(), viewer.System(uuid.Nil)))
	if err != nil || !row.LastUsedAt.Equal(h.clock.now()) || row.Address != "192.0.2.9" {
		t.Errorf("%+v, %v", row, err)
	}
}

func TestSessionsOfAPersonAreLimited(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	first := h.signIn(t, "ada@example.com")
	for range authn.MaxSessions {
		h.clock.add(time.Second)
		if _, err := h.accounts.OpenSession(t.Context(), first.Subject, uuid.Nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.accounts.SessionViewer(t.Context(), first.Session); code(err) != apierr.Unauthorized {
		t.Errorf("the oldest goes on: %v", err)
	}
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	if n, err := h.db.Ent.Session.Query().Where(session.RevokedAtIsNil()).Count(system); err != nil || n != authn.MaxSessions {
		t.Errorf("%d sessions, %v", n, err)
	}
	h.clock.add(25 * time.Hour)
	if _, err := h.accounts.OpenSession(t.Context(), first.Subject, uuid.Nil); err != nil {
		t.Fatal(err)
	}
	if n, err := h.db.Ent.Session.Query().Where(session.RevokedAtNotNil()).Count(system); err != nil || n != 1 {
		t.Errorf("%d ended sessions are kept, %v", n, err)
	}
	if _, err := h.accounts.OpenSession(t.Context(), first.Subject, uuid.New()); code(err) != apierr.CodeNotFound {
		t.Errorf("in a workspace of nobody: %v", err)
	}
}

func TestANewPasswordEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	other, mine := h.signIn(t, "ada@example.com"), h.signIn(t, "ada@example.com")
	ctx := viewer.With(t.Context(), mine)
	for name, try := range map[string]struct {
		current, next string
		code          apierr.Code
	}{
		"wrong":  {"guess guess", "another horse battery", apierr.InvalidCredentials},
		"short":  {password, "short", apierr.InvalidRequest},
		"common": {password, "Password2026!", apierr.InvalidRequest},
		"email":  {password, "ADA@example.com", apierr.InvalidRequest},
	} {
		if err := h.accounts.ChangePassword(ctx, try.current, try.next); code(err) != try.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := h.accounts.ChangePassword(ctx, password, "another horse battery"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), other.Session); code(err) != apierr.Unauthorized {
		t.Errorf("the other session goes on: %v", err)
	}
	if _, err := h.accounts.SessionViewer(t.Context(), mine.Session); err != nil {
		t.Errorf("the present one ended: %v", err)
	}
	if _, err := h.accounts.SignIn(t.Context(), "ada@example.com", password); code(err) != apierr.InvalidCredentials {
		t.Errorf("the old password: %v", err)
	}
	if _, err := h.accounts.SignIn(t.Context(), "ada@example.com", "another horse battery"); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

func TestAnOutdatedHashIsRenewed(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.workspace(t, "ada@example.com")
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	// "correct horse battery" with 64 KiB, one pass, by the argon2 reference program.
	weak := "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$" + weakKey()
	if err := h.db.Ent.User.Update().SetPasswordHash(weak).Exec(system); err != nil {
		t.Fatal(err)
	}
	h.tokens(t, "ada@example.com")
	row, err := h.db.Ent.User.Query().Where(user.Email("ada@example.com")).Only(system)
	if err != nil || !strings.HasPrefix(row.PasswordHash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("%s, %v", row.PasswordHash, err)
	}
	h.tokens(t, "ada@example.com")
}

func TestTooManyHashesAreRefused(t *testing.T) {
	t.Parallel()
	p := authn.NewPasswords()
	const flood = 2000
	codes := make([]apierr.Code, flood)
	var all sync.WaitGroup
	for i := range flood {
		all.Go(func() {
			_, err := p.Match(t.Context(), "x", "")
			codes[i] = code(err)
		})
	}
	all.Wait()
	counts := map[apierr.Code]int{}
	for _, c := range codes {
		counts[c]++
	}
	if counts[""] == 0 || counts[apierr.Unavailable] == 0 || counts[""]+counts[apierr.Unavailable] != flood {
		t.Errorf("%v", counts)
	}
	if ok, err := p.Match(t.Context(), "x", ""); ok || err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestSignInAttemptsAreCountedByAccountAndByAddress(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, o := range map[string]ratelimit.Options{"in this process": {Now: func() time.Time { return now }}, "in Redis": {Redis: redisClient(t), Timeout: 10 * time.Second}} {
		g := authn.SignInLimiter{Attempts: ratelimit.New(o)}
		guess := func(client, email string, right bool) error {
			ended, err := g.Begin(ratelimit.WithClient(t.Context(), client), email)
			if err == nil {
				ended(right, false)
			}
			return err
		}
		if err := guess("home", "Ada@example.com", true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// A hundred wrong passwords from many addresses lock the account for
		// unknown clients only.
		for i := range 100 {
			if err := guess(fmt.Sprint("bot", i/9), "ada@EXAMPLE.com", false); err != nil {
				t.Fatalf("%s, guess %d: %v", name, i, err)
			}
		}
		if err := guess("stranger", "ada@example.com", true); code(err) != apierr.RateLimited {
			t.Errorf("%s, a stranger after a hundred guesses: %v", name, err)
		}
		if err := guess("home", "ada@example.com", true); err != nil {
			t.Errorf("%s, at home: %v", name, err)
		}
		// Sixty wrong passwords from one address lock it for all accounts.
		for i := range 60 {
			if err := guess("sprayer", fmt.Sprintf("p%d@example.com", i), false); err != nil {
				t.Fatalf("%s, account %d: %v", name, i, err)
			}
		}
		if err := guess("sprayer", "new@example.com", true); code(err) != apierr.RateLimited || apierr.From(err).RetryAfter < time.Second {
			t.Errorf("%s, the sixty-first account: %v", name, err)
		}
		// Correct passwords do not count, and neither do those that were not
		// checked.
		for range 70 {
			if err := guess("office", "bob@example.com", true); err != nil {
				t.Fatalf("%s, at the office: %v", name, err)
			}
			ended, err := g.Begin(ratelimit.WithClient(t.Context(), "broken"), "bob@example.com")
			if err != nil {
				t.Fatalf("%s, without a database: %v", name, err)
			}
			ended(false, true)
		}
	}
}

func BenchmarkSession(b *testing.B) {
	h := newFixture(b)
	h.workspace(b, "ada@example.com")
	tokens := h.tokens(b, "ada@example.com")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.accounts.Authenticate(b.Context(), tokens.Access); err != nil {
			b.Fatal(err)
		}
	}
}
