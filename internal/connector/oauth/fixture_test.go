package oauth_test

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

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

const baseURL = "https://magpie.example.com"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clock is a time that the test sets, for the service and the provider.
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

// fixture is a database and an OAuth provider.
type fixture struct {
	db     *store.DB
	server *authserver.Server
	clock  *clock
	box    *secret.Box
	grants *oauth.Grants
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 12)
	must(t, err)
	t.Cleanup(db.Close)
	box, err := secret.NewBox(map[string][]byte{"k": bytes.Repeat([]byte{9}, 32)}, "k")
	must(t, err)
	h := &fixture{db: db, server: authserver.Start(t), clock: &clock{at: time.Now().Truncate(time.Microsecond)}, box: box}
	h.server.SetClock(h.clock.now)
	h.server.Register(authserver.Client{ID: "magpie", Secret: "s3cret", Redirects: []string{
		baseURL + oauth.CallbackPath("google"), baseURL + oauth.CallbackPath("github"),
	}})
	h.grants = h.node(t)
	return h
}

// clients returns clients for google and github at the test's provider.
func (h *fixture) clients() map[string]oauth.Client {
	at := oauth.Client{
		ID: "magpie", Secret: "s3cret", AuthURL: h.server.URL + authserver.AuthorizePath, TokenURL: h.server.URL + authserver.TokenPath,
		RevokeURL: h.server.URL + authserver.RevokePath, AccountURL: h.server.URL + authserver.UserinfoPath,
	}
	return map[string]oauth.Client{"google": at, "github": at}
}

// node returns the grants of another process on the same database.
func (h *fixture) node(t *testing.T, change ...func(*oauth.Options)) *oauth.Grants {
	t.Helper()
	o := oauth.Options{
		Flows: oauth.NewFlows(h.db.Pool, h.box, h.clock.now), Secrets: h.box, BaseURL: baseURL, Origins: []string{"https://app.example.com", "*"},
		Clients: h.clients(), Now: h.clock.now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, c := range change {
		c(&o)
	}
	g := oauth.New(h.db.Ent, o)
	t.Cleanup(g.Close)
	return g
}

// tenant is a workspace with an editor and a connector.
type tenant struct {
	ctx        context.Context // of the editor
	viewer     viewer.Viewer
	connector  uuid.UUID
	collection uuid.UUID
}

func (h *fixture) tenant(t *testing.T, name string) *tenant {
	t.Helper()
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	w, err := h.db.Ent.Workspace.Create().SetID(gid.New(gid.Workspace)).SetName(name).Save(system)
	must(t, err)
	n := &tenant{viewer: h.member(t, w.ID, name+"@example.com", membership.RoleEditor)}
	n.ctx = viewer.With(t.Context(), n.viewer)
	c, err := h.db.Ent.Collection.Create().SetName("Docs").SetEmbeddingModel("builtin").Save(n.ctx)
	must(t, err)
	n.collection = c.ID
	n.connector = h.connector(t, n, "google_drive")
	return n
}

func (h *fixture) member(t *testing.T, workspace uuid.UUID, email string, role membership.Role) viewer.Viewer {
	t.Helper()
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	u, err := h.db.Ent.User.Create().SetEmail(email).Save(system)
	must(t, err)
	must(t, h.db.Ent.Membership.Create().SetWorkspaceID(workspace).SetUserID(u.ID).SetRole(role).Exec(system))
	as := map[membership.Role]viewer.Role{membership.RoleViewer: viewer.RoleViewer, membership.RoleEditor: viewer.RoleEditor, membership.RoleOwner: viewer.RoleOwner}
	return viewer.Viewer{Workspace: workspace, Subject: u.ID, Kind: viewer.KindSession, Surface: viewer.SurfaceDashboard, Role: as[role], AllCollections: true, Email: email}
}

func (h *fixture) connector(t *testing.T, n *tenant, kind string) uuid.UUID {
	t.Helper()
	row, err := h.db.Ent.Connector.Create().SetName("Source").SetType(kind).SetCollectionID(n.collection).Save(n.ctx)
	must(t, err)
	return row.ID
}

// begin starts a connection, grants access at the provider and returns the
// callback.
func (h *fixture) begin(t *testing.T, n *tenant, s oauth.AuthorizationRequest) oauth.Callback {
	t.Helper()
	begun, err := h.grants.Begin(n.ctx, s)
	must(t, err)
	back := returned(s.Provider, h.server.Browse(t, begun.URL))
	back.Binding = begun.Binding
	return back
}

func returned(provider string, back *url.URL) oauth.Callback {
	q := back.Query()
	return oauth.Callback{Provider: provider, State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error"), Description: q.Get("error_description")}
}

// connect creates a grant, for the connector unless that is zero.
func (h *fixture) connect(t *testing.T, n *tenant, connector uuid.UUID) uuid.UUID {
	t.Helper()
	s := oauth.AuthorizationRequest{Provider: "google"}
	if connector != uuid.Nil {
		s.Connector = &connector
	}
	out, err := h.grants.Finish(anonymous(t), h.begin(t, n, s))
	must(t, err)
	if out.Grant == uuid.Nil || out.Connector != connector {
		t.Fatalf("the outcome is %+v", out)
	}
	return out.Grant
}

// anonymous returns the context of a browser without a session.
func anonymous(t *testing.T) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard})
}

func (h *fixture) grant(t *testing.T, n *tenant, id uuid.UUID) *ent.OAuthGrant {
	t.Helper()
	row, err := h.db.Ent.OAuthGrant.Get(n.ctx, id)
	must(t, err)
	return row
}

func (h *fixture) row(t *testing.T, n *tenant, id uuid.UUID) *ent.Connector {
	t.Helper()
	row, err := h.db.Ent.Connector.Get(n.ctx, id)
	must(t, err)
	return row
}

func code(err error) apierr.Code {
	if err == nil {
		return ""
	}
	var e *apierr.Error
	if !errors.As(err, &e) {
		return apierr.Internal
	}
	return e.Code
}
