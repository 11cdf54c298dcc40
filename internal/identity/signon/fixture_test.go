package signon_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	baseURL = "https://magpie.example.com"
	app     = "https://app.example.com/signed-in"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) apierr.Code {
	var e *apierr.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return apierr.Internal
}

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

type fixture struct {
	db        *store.DB
	server    *authserver.Server
	accounts  *authn.Accounts
	clock     *clock
	workspace uuid.UUID
	signon    *signon.SignOn
	log       *bytes.Buffer
}

func newFixture(t *testing.T, change ...func(*signon.Options)) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	must(t, err)
	t.Cleanup(db.Close)
	h := &fixture{db: db, server: authserver.Start(t), clock: &clock{at: time.Now().Truncate(time.Microsecond)}, log: &bytes.Buffer{}}
	h.server.SetClock(h.clock.now)
	h.server.Register(authserver.Client{ID: "magpie", Secret: "s3cret", Redirects: []string{baseURL + signon.CallbackPath}})
	h.accounts, err = authn.NewAccounts(db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), h.clock.now)
	must(t, err)
	_, err = h.accounts.CreateOwner(t.Context(), "House", "owner@example.com", "Owner", "a long enough passphrase")
	must(t, err)
	h.workspace = h.only(t)
	h.signon = h.node(t, change...)
	return h
}

func system(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// only returns the only workspace.
func (h *fixture) only(t *testing.T) uuid.UUID {
	t.Helper()
	w, err := h.db.Ent.Workspace.Query().Only(system(t.Context()))
	must(t, err)
	return w.ID
}

func (h *fixture) node(t *testing.T, change ...func(*signon.Options)) *signon.SignOn {
	t.Helper()
	box, err := secret.NewBox(map[string][]byte{"k": bytes.Repeat([]byte{9}, 32)}, "k")
	must(t, err)
	o := signon.Options{
		Issuer: h.server.URL, ClientID: "magpie", ClientSecret: "s3cret", Name: "Example ID", BaseURL: baseURL, Origins: []string{"https://app.example.com"},
		Attempts: ratelimit.New(ratelimit.Options{}), Log: slog.New(slog.NewTextHandler(&locked{w: h.log}, nil)), Now: h.clock.now,
	}
	for _, c := range change {
		c(&o)
	}
	s := signon.New(h.db.Ent, h.db.Pool, oauth.NewFlows(h.db.Pool, box, h.clock.now), h.accounts, o)
	t.Cleanup(s.Close)
	return s
}

// locked is a buffer that several goroutines may write to.
type locked struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func ada() authserver.Account {
	return authserver.Account{Subject: "ada-1", Email: "ada@example.com", Name: "Ada", Verified: true}
}

func returned(back *url.URL) signon.Callback {
	q := back.Query()
	return signon.Callback{State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error"), Description: q.Get("error_description"), Issuer: q.Get("iss")}
}

// sign signs in with an account.
func (h *fixture) sign(t *testing.T, s *signon.SignOn, a authserver.Account) (authn.Tokens, error) {
	t.Helper()
	h.server.SignIn(a)
	begun, err := s.Start(t.Context(), "")
	if err != nil {
		return authn.Tokens{}, err
	}
	answered, err := s.HandleCallback(t.Context(), returned(h.server.Browse(t, begun.URL)))
	if err != nil {
		return authn.Tokens{}, err
	}
	return s.Finish(t.Context(), answered.Code, begun.Binding)
}

// who returns the viewer of a session.
func (h *fixture) who(t *testing.T, tokens authn.Tokens) viewer.Viewer {
	t.Helper()
	v, err := h.accounts.Authenticate(t.Context(), tokens.Access)
	must(t, err)
	return v
}

func (h *fixture) add(t *testing.T, email string) uuid.UUID {
	t.Helper()
	p, err := h.accounts.AddMember(t.Context(), h.workspace, email, "", "a long enough passphrase", membership.RoleEditor)
	must(t, err)
	return p.ID
}

func (h *fixture) count(t *testing.T, table string) (n int) {
	t.Helper()
	must(t, h.db.Pool.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n))
	return n
}
