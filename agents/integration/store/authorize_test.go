package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/ent/toolconnection"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/testkit/mcpserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	magpie     = "https://magpie.example.com"
	callback   = magpie + "/api/v1/oauth/callback/mcp"
	ourClient  = magpie + "/oauth/client"
	dashboard  = "https://app.example.com"
	whoamiTool = "mcp.whoami"
)

// A site has tool integrations at a tool server with an authorization server.
type site struct {
	*fixture
	at    *mcpserver.Server
	clock atomic.Int64 // offset
	other *store.Store // of another process
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{fixture: newFixture(t), at: mcpserver.New(t)}
	s.store, s.other = s.process(t), s.process(t)
	return s
}

func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.clock.Load())) }

func (s *site) forward(d time.Duration) { s.clock.Add(int64(d)) }

// process returns the store of a process.
func (s *site) process(t *testing.T) *store.Store {
	t.Helper()
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	client := mcp.NewClient(mcp.Options{Dial: guard.DialContext, Now: s.now, Limits: mcp.Limits{Parallel: 20}})
	t.Cleanup(client.Close)
	grants := oauth.New(s.db.Ent, oauth.Options{
		Flows: oauth.NewFlows(s.db.Pool, s.box, s.now), Secrets: s.box, BaseURL: magpie, Origins: []string{dashboard}, Now: s.now,
		Clients: map[string]oauth.Client{"google": {ID: "magpie", Secret: "s3cret"}},
	})
	t.Cleanup(grants.Close)
	o := store.Options{Ent: s.db.Ent, Box: s.box, Grants: grants, Dial: guard.DialContext, Dashboard: dashboard, Now: s.now}
	o.Sources = maps.Clone(s.sources)
	o.Sources[toolintegration.KindMCP] = store.ToolServers(toolserver.New(client, nil, toolserver.OAuth{RedirectURL: callback, MetadataURL: ourClient}), slog.New(slog.DiscardHandler))
	return store.New(o)
}

// integrate makes an integration of the tool server, whose tool is known.
func (s *site) integrate(ctx context.Context, t *testing.T, d store.Draft) *ent.ToolIntegration {
	t.Helper()
	d.Provider, d.Name = "mcp", "Tracker"
	if d.Config == nil {
		d.Config = map[string]any{}
	}
	d.Config["url"] = s.at.URL
	row := must[*ent.ToolIntegration](t)(s.store.Create(ctx, d))
	s.at.Open.Store(true)
	if _, _, err := s.store.Refresh(ctx, row.ID); err != nil {
		t.Fatal(err)
	}
	s.at.Open.Store(false)
	v, _ := viewer.From(ctx)
	if _, err := s.store.SetPolicy(ctx, s.tool(ctx, t, row, "whoami").ID, store.ToolChange{}); err != nil && v.Role.AtLeast(viewer.RoleEditor) {
		t.Fatal(err)
	}
	return row
}

// whoami calls the tool in a run of v.
func (s *site) whoami(t *testing.T, v viewer.Viewer) (string, error) {
	t.Helper()
	tool := s.tools(t, v, whoamiTool)["mcp_whoami"]
	result, err := tool.Call(loop.WithCallInfo(t.Context(), loop.CallInfo{ID: "a", Key: "run:a", InRun: true}), json.RawMessage(`{}`))
	return result.Text, err
}

// back returns what the browser of a person brings back from an address.
func (s *site) back(t *testing.T, address, person string) oauth.Callback {
	t.Helper()
	return callbackOf(s.at.Agree(t, address, person))
}

func callbackOf(q url.Values) oauth.Callback {
	return oauth.Callback{Provider: "mcp", State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss")}
}

// connect connects the account of a person by a browser.
func (s *site) connect(ctx context.Context, t *testing.T, row *ent.ToolIntegration, person string) {
	t.Helper()
	begun := must[oauth.Authorization](t)(s.store.Authorize(ctx, row.ID, ""))
	r := s.back(t, begun.URL, person)
	r.Binding = begun.Binding
	if out, err := s.other.FinishAuthorization(nobody(t), r); err != nil || out.Grant == uuid.Nil {
		t.Fatalf("finish: %+v, %v", out, err)
	}
}

// nobody returns the context of a browser without a session.
func nobody(t *testing.T) context.Context {
	return viewer.With(t.Context(), viewer.Viewer{Kind: viewer.KindAnonymous})
}

func (s *site) state(ctx context.Context, t *testing.T, row *ent.ToolIntegration) store.State {
	t.Helper()
	return must[map[uuid.UUID]store.State](t)(s.store.States(ctx, []uuid.UUID{row.ID}))[row.ID]
}

func asked(t *testing.T, err error) *loop.AuthRequiredError {
	t.Helper()
	needed, ok := errors.AsType[*loop.AuthRequiredError](err)
	if !ok {
		t.Fatalf("got %v, want a *loop.AuthRequiredError", err)
	}
	return needed
}

func TestAPersonConnectsATheirAccountAtAToolServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	bob, bobCtx := s.person(t, ada.Workspace, "bob", membership.RoleViewer)
	row := s.integrate(adaCtx, t, store.Draft{})
	s.connect(adaCtx, t, row, "ada")
	if who, err := s.whoami(t, ada); err != nil || who != "ada" {
		t.Errorf("ada: %q, %v", who, err)
	}
	if _, err := s.whoami(t, bob); asked(t, err).URL == "" || strings.Contains(apierr.From(err).Message, "http") {
		t.Errorf("bob: %v", err)
	}
	if state := s.state(bobCtx, t, row); state != store.NeedsAuth {
		t.Errorf("bob's state is %s", state)
	}
	s.connect(bobCtx, t, row, "bob")
	for _, v := range []viewer.Viewer{ada, bob} {
		name, _, _ := strings.Cut(v.Email, "@")
		if who, err := s.whoami(t, v); err != nil || who != name {
			t.Errorf("%s: %q, %v", name, who, err)
		}
	}
	grants := must[[]*ent.OAuthGrant](t)(s.db.Ent.OAuthGrant.Query().All(bobCtx))
	if len(grants) != 1 || grants[0].OwnerID == nil || *grants[0].OwnerID != bob.Subject || bytes.Contains(grants[0].Tokens, []byte("bob-")) || grants[0].Provider != "mcp" ||
		grants[0].Status != oauthgrant.StatusActive || grants[0].ExpiresAt == nil {
		t.Errorf("bob sees %v", grants)
	}
	key := viewer.Viewer{Workspace: ada.Workspace, Subject: uuid.New(), Kind: viewer.KindKey, AllCollections: true}
	if _, err := s.whoami(t, key); asked(t, err).URL != "" {
		t.Errorf("a key: %v", err)
	}
	must[*ent.ToolIntegration](t)(s.store.Disconnect(bobCtx, row.ID))
	if n := must[int](t)(s.db.Ent.OAuthGrant.Query().Count(viewer.With(t.Context(), viewer.System(uuid.Nil)))); n != 1 {
		t.Errorf("%d grants are left", n)
	}
}

func TestTheLinkOfARunIsFollowedByItsPersonAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	_, bobCtx := s.person(t, ada.Workspace, "bob", membership.RoleOwner)
	_, eveCtx := s.person(t, uuid.Nil, "eve", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	_, err := s.whoami(t, ada)
	first := asked(t, err)
	if first.Integration != row.ID || first.Name != "Tracker" || s.at.Registrations.Load() != 1 {
		t.Errorf("got %+v after %d registrations", first, s.at.Registrations.Load())
	}
	if state := s.state(adaCtx, t, row); state != store.NeedsAuth {
		t.Errorf("the state is %s", state)
	}
	for name, ctx := range map[string]context.Context{"bob": bobCtx, "eve": eveCtx} {
		_, err := s.whoami(t, ada)
		r := s.back(t, asked(t, err).URL, name) // who followed the link that ada sent them
		out, err := s.store.FinishAuthorization(nobody(t), r)
		if err != nil || !strings.HasPrefix(out.ReturnTo, dashboard+"#") || out.Grant != uuid.Nil {
			t.Errorf("%s's browser: %+v, %v", name, out, err)
		}
		if _, err := s.store.FinishAuthorization(ctx, r); code(err) != apierr.Forbidden {
			t.Errorf("%s's session: %v", name, err)
		}
	}
	r := s.back(t, first.URL, "ada")
	out := must[oauth.Outcome](t)(s.store.FinishAuthorization(nobody(t), r))
	_, fragment, _ := strings.Cut(out.ReturnTo, "#")
	brought, err := url.ParseQuery(fragment)
	if err != nil || brought.Get("oauth") != "confirm" || brought.Get("provider") != "mcp" {
		t.Errorf("the browser is sent to %s", out.ReturnTo)
	}
	if out, err := s.store.FinishAuthorization(adaCtx, callbackOf(brought)); err != nil || out.Grant == uuid.Nil {
		t.Errorf("ada: %+v, %v", out, err)
	}
	if who, err := s.whoami(t, ada); err != nil || who != "ada" {
		t.Errorf("got %q, %v", who, err)
	}
	if s.at.Registrations.Load() != 1 {
		t.Errorf("%d clients were registered", s.at.Registrations.Load())
	}
}

func TestARedirectThatWasNotAskedForConnectsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	good := func() oauth.Callback {
		begun := must[oauth.Authorization](t)(s.store.Authorize(adaCtx, row.ID, ""))
		r := s.back(t, begun.URL, "mallory")
		r.Binding = begun.Binding
		return r
	}
	for name, change := range map[string]func(*oauth.Callback){
		"a forged state":     func(r *oauth.Callback) { r.State = oauth.NewToken() },
		"another browser":    func(r *oauth.Callback) { r.Binding = oauth.NewToken() },
		"no browser":         func(r *oauth.Callback) { r.Binding = "" },
		"another issuer":     func(r *oauth.Callback) { r.Issuer = "https://evil.example" },
		"no issuer":          func(r *oauth.Callback) { r.Issuer = "" },
		"another provider":   func(r *oauth.Callback) { r.Provider = "google" },
		"a guessed code":     func(r *oauth.Callback) { r.Code = "guessed" },
		"no code":            func(r *oauth.Callback) { r.Code = "" },
		"a person's refusal": func(r *oauth.Callback) { r.Error = "access_denied" },
	} {
		r := good()
		change(&r)
		if out, err := s.store.FinishAuthorization(nobody(t), r); code(err) != apierr.InvalidRequest {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
	if _, err := s.whoami(t, ada); asked(t, err).URL == "" {
		t.Errorf("got %v", err)
	}
	r := good()
	if _, err := s.store.FinishAuthorization(nobody(t), r); err != nil {
		t.Fatal(err)
	}
	if _, err := s.other.FinishAuthorization(nobody(t), r); code(err) != apierr.InvalidRequest {
		t.Errorf("a replay: %v", err)
	}
	// A person who left meanwhile, and an integration that leads elsewhere meanwhile.
	r = good()
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	must[int](t)(s.db.Ent.Membership.Delete().Where(membership.UserID(ada.Subject)).Exec(system))
	if _, err := s.store.FinishAuthorization(nobody(t), r); code(err) != apierr.Forbidden {
		t.Errorf("a person who left: %v", err)
	}
}

func TestAnAddressThatChangesMeanwhileGetsNoAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	begun := must[oauth.Authorization](t)(s.store.Authorize(adaCtx, row.ID, ""))
	r := s.back(t, begun.URL, "ada")
	r.Binding = begun.Binding
	elsewhere := mcpserver.New(t)
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{Config: map[string]any{"url": elsewhere.URL}}))
	if _, err := s.store.FinishAuthorization(nobody(t), r); code(err) != apierr.Conflict {
		t.Errorf("got %v", err)
	}
	// A token does not follow to another address.
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{Config: map[string]any{"url": s.at.URL}}))
	s.connect(adaCtx, t, row, "ada")
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{Config: map[string]any{"url": elsewhere.URL}}))
	if _, err := s.whoami(t, ada); !strings.HasPrefix(asked(t, err).URL, elsewhere.Issuer) {
		t.Errorf("got %v", err)
	}
	if n := must[int](t)(s.db.Ent.OAuthGrant.Query().Where(oauthgrant.StatusEQ(oauthgrant.StatusActive)).Count(adaCtx)); n != 0 {
		t.Errorf("%d grants are left", n)
	}
}

func TestTwoProcessesRenewATokenOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	s.connect(adaCtx, t, row, "ada")
	for round := range 2 {
		s.forward(2 * time.Hour)
		s.at.Expire()
		var calls sync.WaitGroup
		for i := range 10 {
			in := []*store.Store{s.store, s.other}[i%2]
			tools := must[[]loop.Tool](t)(in.Tools(adaCtx, ada, &ent.Agent{Tools: []string{whoamiTool}}, uuid.New()))
			calls.Go(func() {
				if result, err := tools[0].Call(t.Context(), json.RawMessage(`{}`)); err != nil || result.Text != "ada" {
					t.Errorf("got %q, %v", result.Text, err)
				}
			})
		}
		calls.Wait()
		if n := s.at.Refreshes.Load(); n != int64(round+1) {
			t.Errorf("the token was renewed %d times in %d rounds", n, round+1)
		}
	}
	grant := must[*ent.OAuthGrant](t)(s.db.Ent.OAuthGrant.Query().Only(adaCtx))
	if grant.LeaseUntil != nil || grant.LeaseID != nil {
		t.Errorf("the lease is held: %v", grant)
	}
}

func TestAProcessThatDiedDuringARenewalIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	s.connect(adaCtx, t, row, "ada")
	s.forward(2 * time.Hour)
	s.at.Expire()
	must[int](t)(s.db.Ent.OAuthGrant.Update().SetLeaseID(uuid.New()).SetLeaseUntil(s.now().Add(-time.Second)).Save(adaCtx))
	if who, err := s.whoami(t, ada); err != nil || who != "ada" {
		t.Errorf("got %q, %v", who, err)
	}
}

func TestADeadGrantAsksThePersonAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	s.connect(adaCtx, t, row, "ada")
	s.forward(2 * time.Hour)
	s.at.Expire()
	s.at.BreakTokens.Store(true)
	if _, err := s.whoami(t, ada); code(err) != apierr.Unavailable {
		t.Errorf("an authorization server that is down: %v", err)
	}
	s.at.BreakTokens.Store(false)
	s.at.Forget()
	_, err := s.whoami(t, ada)
	link := asked(t, err).URL
	c := must[*ent.ToolConnection](t)(s.db.Ent.ToolConnection.Query().Only(adaCtx))
	grant := must[*ent.OAuthGrant](t)(s.db.Ent.OAuthGrant.Query().Only(adaCtx))
	if state := s.state(adaCtx, t, row); state != store.NeedsAuth || c.Status != toolconnection.StatusNeedsAuth || grant.Status != oauthgrant.StatusNeedsAuth || c.LastError == nil {
		t.Errorf("the state is %s, %v, %v", state, c, grant)
	}
	before := s.at.Requests.Load()
	if description := s.tools(t, ada, whoamiTool)["mcp_whoami"].Description; !strings.Contains(description, "does not accept the credentials any more") {
		t.Errorf("the model is told %q", description)
	}
	_, err = s.whoami(t, ada)
	if again := asked(t, err); again.URL == "" || again.URL == link || s.at.Refreshes.Load() != 1 {
		t.Errorf("got %+v after %d renewals, %d requests", again, s.at.Refreshes.Load(), s.at.Requests.Load()-before)
	}
	if _, err := s.store.FinishAuthorization(adaCtx, s.back(t, link, "ada")); err != nil {
		t.Fatal(err)
	}
	if who, err := s.whoami(t, ada); err != nil || who != "ada" || s.state(adaCtx, t, row) != store.Active {
		t.Errorf("got %q, %v", who, err)
	}
}

func TestMorePermissionsDoNotDisconnectAnAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	s.connect(adaCtx, t, row, "ada")
	wanted := "write"
	s.at.Scope.Store(&wanted)
	_, err := s.whoami(t, ada)
	if link := asked(t, err).URL; !strings.Contains(link, "read+write") || s.state(adaCtx, t, row) != store.Active {
		t.Errorf("the link is %s, the state %s", link, s.state(adaCtx, t, row))
	}
	s.at.Scope.Store(nil)
	if who, err := s.whoami(t, ada); err != nil || who != "ada" {
		t.Errorf("got %q, %v", who, err)
	}
}

func TestASharedAccountIsConnectedByAdministrators(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleAdmin)
	bob, bobCtx := s.person(t, ada.Workspace, "bob", membership.RoleEditor)
	_, eveCtx := s.person(t, uuid.Nil, "eve", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{Shared: true})
	if _, err := s.whoami(t, bob); asked(t, err).URL != "" || !strings.Contains(err.Error(), "an administrator does that") {
		t.Errorf("bob's run: %v", err)
	}
	if state := s.state(bobCtx, t, row); state != store.NeedsAuth {
		t.Errorf("the state is %s", state)
	}
	if _, err := s.store.Authorize(bobCtx, row.ID, ""); code(err) != apierr.Forbidden {
		t.Errorf("bob: %v", err)
	}
	if _, err := s.store.Authorize(eveCtx, row.ID, ""); code(err) != apierr.CodeNotFound {
		t.Errorf("eve: %v", err)
	}
	_, err := s.whoami(t, ada)
	r := s.back(t, asked(t, err).URL, "team")
	must[int](t)(s.db.Ent.Membership.Update().Where(membership.UserID(ada.Subject)).SetRole(membership.RoleEditor).Save(viewer.With(t.Context(), viewer.System(uuid.Nil))))
	if out, err := s.store.FinishAuthorization(adaCtx, r); err != nil || out.Grant != uuid.Nil || !strings.Contains(out.ReturnTo, "error=forbidden") {
		t.Errorf("who is no administrator any more: %+v, %v", out, err)
	}
	must[int](t)(s.db.Ent.Membership.Update().Where(membership.UserID(ada.Subject)).SetRole(membership.RoleAdmin).Save(viewer.With(t.Context(), viewer.System(uuid.Nil))))
	s.connect(adaCtx, t, row, "team")
	key := viewer.Viewer{Workspace: ada.Workspace, Subject: uuid.New(), Kind: viewer.KindKey, AllCollections: true}
	for _, v := range []viewer.Viewer{ada, bob, key} {
		if who, err := s.whoami(t, v); err != nil || who != "team" {
			t.Errorf("%s: %q, %v", v.Kind, who, err)
		}
	}
}

func TestClientsAreDocumentsOrRegisteredByHand(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.at.Documents.Store(true)
	s.at.Register("by-hand", "cl13nt-s3cret", callback)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	clientOf := func() string {
		begun := must[oauth.Authorization](t)(s.store.Authorize(adaCtx, row.ID, ""))
		return must[*url.URL](t)(url.Parse(begun.URL)).Query().Get("client_id")
	}
	if id := clientOf(); id != ourClient || s.at.Registrations.Load() != 0 {
		t.Errorf("the client is %s", id)
	}
	s.connect(adaCtx, t, row, "ada")
	if who, err := s.whoami(t, ada); err != nil || who != "ada" {
		t.Errorf("got %q, %v", who, err)
	}
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{Config: map[string]any{"register": true}}))
	if id := clientOf(); !strings.HasPrefix(id, "client") || s.at.Registrations.Load() != 1 {
		t.Errorf("the client is %s", id)
	}
	if _, err := s.store.Connect(adaCtx, row.ID, map[string]any{"clientSecret": "cl13nt-s3cret"}); code(err) != apierr.InvalidRequest {
		t.Errorf("a secret without an id: %v", err)
	}
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{Config: map[string]any{"clientId": "by-hand"}}))
	if _, err := s.store.Connect(adaCtx, row.ID, map[string]any{"clientSecret": "cl13nt-s3cret"}); code(err) != apierr.InvalidRequest {
		t.Errorf("a secret that may go anywhere: %v", err)
	}
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{Config: map[string]any{"authorizationServer": "https://auth.example.com"}}))
	must[*ent.ToolIntegration](t)(s.store.Connect(adaCtx, row.ID, map[string]any{"clientSecret": "cl13nt-s3cret"}))
	if _, err := s.store.Authorize(adaCtx, row.ID, ""); code(err) != apierr.Conflict {
		t.Errorf("a server that names another authorization server: %v", err)
	}
	must[*ent.ToolIntegration](t)(s.store.Update(adaCtx, row.ID, store.Change{
		Config: map[string]any{"authorizationServer": s.at.Issuer}, Credentials: map[string]any{"clientSecret": "cl13nt-s3cret"},
	}))
	s.connect(adaCtx, t, row, "ada")
	s.forward(2 * time.Hour)
	s.at.Expire()
	if who, err := s.whoami(t, ada); err != nil || who != "ada" || s.at.Refreshes.Load() != 1 {
		t.Errorf("got %q, %v after %d renewals", who, err, s.at.Refreshes.Load())
	}
}

func TestAToolServerWithATokenIsNotConnectedByOAuth(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := s.integrate(adaCtx, t, store.Draft{})
	must[*ent.ToolIntegration](t)(s.store.Connect(adaCtx, row.ID, map[string]any{"token": "t0ken-of-ada"}))
	if _, err := s.store.Authorize(adaCtx, row.ID, ""); code(err) != apierr.Conflict {
		t.Errorf("got %v", err)
	}
	must[*ent.ToolIntegration](t)(s.store.Disconnect(adaCtx, row.ID))
	if check := must[store.Check](t)(s.store.Test(adaCtx, row.ID)); check.OK || !check.NeedsAuth || s.state(adaCtx, t, row) != store.NeedsAuth {
		t.Errorf("a test says %+v, the state is %s", check, s.state(adaCtx, t, row))
	}
	s.at.Open.Store(true)
	if check := must[store.Check](t)(s.store.Test(adaCtx, row.ID)); !check.OK || s.state(adaCtx, t, row) != store.Active {
		t.Errorf("a test says %+v, the state is %s", check, s.state(adaCtx, t, row))
	}
}

func TestARunShowsTheLinkOfAPlatformToo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ada, adaCtx := s.person(t, uuid.Nil, "ada", membership.RoleOwner)
	row := must[*ent.ToolIntegration](t)(s.store.Create(adaCtx, store.Draft{Provider: "board", Name: "Board"}))
	call := func() *loop.AuthRequiredError {
		tool := s.tools(t, ada, "board.search")["board_search"]
		_, err := tool.Call(loop.WithCallInfo(t.Context(), loop.CallInfo{ID: "a", Key: "run:a", InRun: true}), json.RawMessage(hello))
		return asked(t, err)
	}
	if needed := call(); needed.Integration != row.ID || !strings.Contains(needed.URL, "accounts.google.com") {
		t.Errorf("got %+v", needed)
	}
	must[*ent.ToolIntegration](t)(s.store.Connect(adaCtx, row.ID, map[string]any{"token": "t0ken-of-ada"}))
	s.refused.Store(true)
	if needed := call(); !strings.Contains(needed.URL, "accounts.google.com") || strings.Contains(needed.Error(), "t0ken") {
		t.Errorf("got %+v", needed)
	}
	if out, err := s.store.FinishAuthorization(adaCtx, oauth.Callback{Provider: "mcp", State: must[*url.URL](t)(url.Parse(call().URL)).Query().Get("state"), Code: "x"}); code(err) != apierr.InvalidRequest {
		t.Errorf("a state of another provider: %+v, %v", out, err)
	}
}
