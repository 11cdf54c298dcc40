package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	first, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	h.clock.forward(54 * time.Minute)
	same, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	if same.Access != first.Access || h.server.Requests(authserver.TokenPath) != 1 {
		t.Errorf("it was renewed too early")
	}
	for round := range 4 { // each with the refresh token of the previous one
		h.clock.forward(56 * time.Minute)
		next, err := h.node(t).Token(ada.ctx, grant)
		must(t, err)
		if next.Access == first.Access || !h.server.ValidToken(next.Access) {
			t.Fatalf("round %d: the token is no new one that works", round)
		}
		first = next
	}
	if row := h.grant(t, ada, grant); row.Generation != 5 || row.LeaseUntil != nil || row.LastError != nil || row.Status != oauthgrant.StatusActive {
		t.Errorf("the grant is %+v", row)
	}
}

func TestOneOfManyWorkersRenews(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	h.clock.forward(2 * time.Hour) // the token has expired: everybody needs a new one
	nodes := []*oauth.Grants{h.grants, h.node(t), h.node(t)}
	var mu sync.Mutex
	got := map[string]int{}
	var group sync.WaitGroup
	for i := range 48 {
		group.Go(func() {
			token, err := nodes[i%3].Token(ada.ctx, grant)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[token.Access]++
		})
	}
	group.Wait()
	if n := h.server.Requests(authserver.TokenPath); len(got) != 1 || n != 2 {
		t.Errorf("%d tokens, %d requests at the token endpoint, of which one is the beginning's", len(got), n)
	}
}

func TestNobodyWaitsWhileTheCurrentTokenIsValid(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	first, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	h.clock.forward(57 * time.Minute)
	hold := make(chan struct{})
	h.server.Fail(authserver.TokenPath, authserver.Fault{Hold: hold})
	renewing := make(chan oauth.Token, 1)
	go func() {
		token, err := h.grants.Token(ada.ctx, grant)
		if err != nil {
			t.Error(err)
		}
		renewing <- token
	}()
	testkit.WaitFor(t, "the second token request", func() bool { return h.server.Requests(authserver.TokenPath) == 2 })
	other, err := h.node(t).Token(ada.ctx, grant) // another worker does not wait
	must(t, err)
	if other.Access != first.Access {
		t.Error("the other worker got another token")
	}
	close(hold)
	if next := <-renewing; next.Access == first.Access || !h.server.ValidToken(next.Access) {
		t.Error("the renewal gave no new token")
	}
}

func TestACancelledCallStoresTheNextRefreshToken(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	h.clock.forward(2 * time.Hour)
	hold := make(chan struct{})
	h.server.Fail(authserver.TokenPath, authserver.Fault{Hold: hold})
	ctx, leave := context.WithCancel(ada.ctx)
	left := make(chan error, 1)
	go func() {
		_, err := h.grants.Token(ctx, grant)
		left <- err
	}()
	testkit.WaitFor(t, "the second token request", func() bool { return h.server.Requests(authserver.TokenPath) == 2 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	close(hold)
	h.grants.Close() // Close waits for the running renewal
	if row := h.grant(t, ada, grant); row.Generation != 2 {
		t.Errorf("the answer was not stored: %+v", row)
	}
	if _, err := h.grants.Token(ada.ctx, grant); err != nil {
		t.Errorf("the token that was stored: %v", err)
	}
	h.clock.forward(2 * time.Hour)
	token, err := h.node(t).Token(ada.ctx, grant)
	must(t, err)
	if !h.server.ValidToken(token.Access) {
		t.Error("the next refresh token does not work")
	}
	if _, err := h.grants.Token(ada.ctx, grant); err != nil {
		t.Error(err)
	}
}

func TestTheLeaseOfADeadWorkerExpires(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	h.clock.forward(2 * time.Hour)
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	must(t, h.db.Ent.OAuthGrant.UpdateOneID(grant).SetLeaseID(uuid.New()).SetLeaseUntil(h.clock.now().Add(time.Minute)).Exec(system))
	short, cancel := context.WithTimeout(ada.ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := h.grants.Token(short, grant); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("under the lease of another: %v", err)
	}
	h.clock.forward(time.Minute)
	token, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	if !h.server.ValidToken(token.Access) {
		t.Error("the token does not work")
	}
}

func TestAWithdrawnGrantNeedsAPerson(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	second, paused := h.connector(t, ada, "google_drive"), h.connector(t, ada, "google_drive")
	must(t, h.db.Ent.Connector.UpdateOneID(second).SetGrantID(grant).Exec(ada.ctx))
	must(t, h.db.Ent.Connector.UpdateOneID(paused).SetGrantID(grant).SetStatus(connector.StatusPaused).Exec(ada.ctx))
	h.server.RevokeEverything()
	if _, err := h.grants.Token(ada.ctx, grant); err != nil {
		t.Errorf("before its end nobody asks the provider: %v", err)
	}
	h.clock.forward(2 * time.Hour)
	asked := h.server.Requests(authserver.TokenPath)
	for range 3 {
		_, err := h.grants.Token(ada.ctx, grant)
		if !connectors.IsNeedsAuth(err) {
			t.Errorf("got %v", err)
		}
	}
	if n := h.server.Requests(authserver.TokenPath) - asked; n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	if row := h.grant(t, ada, grant); row.Status != oauthgrant.StatusNeedsAuth || row.LastError == nil || *row.LastError != "invalid_grant" {
		t.Errorf("the grant is %+v", row)
	}
	for id, want := range map[uuid.UUID]connector.Status{ada.connector: connector.StatusNeedsAuth, second: connector.StatusNeedsAuth, paused: connector.StatusPaused} {
		if got := h.row(t, ada, id).Status; got != want {
			t.Errorf("a connector is %s, not %s", got, want)
		}
	}
	// A grant of the same account reactivates all its connectors.
	if again := h.connect(t, ada, ada.connector); again != grant {
		t.Errorf("a further grant was made")
	}
	for id, want := range map[uuid.UUID]connector.Status{ada.connector: connector.StatusActive, second: connector.StatusActive, paused: connector.StatusPaused} {
		if got := h.row(t, ada, id).Status; got != want {
			t.Errorf("a connector is %s, not %s", got, want)
		}
	}
	if token, err := h.grants.Token(ada.ctx, grant); err != nil || !h.server.ValidToken(token.Access) {
		t.Errorf("after the second consent: %v", err)
	}
}

func TestAnotherAccountIsAnotherGrant(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	first := h.connect(t, ada, ada.connector)
	shared := h.connector(t, ada, "google_drive")
	must(t, h.db.Ent.Connector.UpdateOneID(shared).SetGrantID(first).Exec(ada.ctx))
	h.server.SignIn(authserver.Account{Subject: "2", Email: "other@example.com", Verified: true})
	second := h.connect(t, ada, ada.connector)
	if second == first || *h.row(t, ada, shared).GrantID != first {
		t.Error("the other connector's grant was replaced")
	}
	third := h.connect(t, ada, shared)
	if _, err := h.db.Ent.OAuthGrant.Get(ada.ctx, first); err == nil {
		t.Error("a grant that nothing uses was kept")
	}
	if third == second {
		t.Error("two consents made one grant")
	}
}

func TestAProviderThatIsDownIsAskedAgainLater(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	first, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	h.clock.forward(57 * time.Minute)
	h.server.Fail(authserver.TokenPath, authserver.Fault{Status: 500})
	still, err := h.grants.Token(ada.ctx, grant)
	if err != nil || still.Access != first.Access {
		t.Errorf("while the token works: %v", err)
	}
	h.clock.forward(time.Hour)
	for _, fault := range []authserver.Fault{{Status: 500}, {Status: 503, Error: "temporarily_unavailable"}, {Status: 429}, {Status: 401, Error: "invalid_client"}} {
		h.server.Fail(authserver.TokenPath, fault)
		_, err := h.grants.Token(ada.ctx, grant)
		if after, ok := connectors.RetryAfterOf(err); !ok || after < time.Second || connectors.IsNeedsAuth(err) {
			t.Errorf("%+v: %v", fault, err)
		}
		h.clock.forward(6 * time.Second)
	}
	row := h.grant(t, ada, grant)
	if row.Status != oauthgrant.StatusActive || row.LastError == nil || h.row(t, ada, ada.connector).Status != connector.StatusActive {
		t.Errorf("the grant is %+v", row)
	}
	token, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	if row := h.grant(t, ada, grant); !h.server.ValidToken(token.Access) || row.LastError != nil {
		t.Errorf("the grant is %+v", row)
	}
}

func TestARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	first, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	second, err := h.grants.Renew(ada.ctx, grant, first.Access)
	must(t, err)
	third, err := h.grants.Renew(ada.ctx, grant, first.Access) // a slow call: the token was replaced already
	must(t, err)
	if second.Access == first.Access || third.Access != second.Access || h.server.Requests(authserver.TokenPath) != 2 {
		t.Errorf("%d requests", h.server.Requests(authserver.TokenPath))
	}
	source := h.grants.TokenSource(ada.viewer.Workspace, grant)
	if token, _, err := source(t.Context(), ""); err != nil || token != second.Access {
		t.Errorf("as a connector: %v", err)
	}
	eve := h.tenant(t, "eve")
	if _, _, err := h.grants.TokenSource(eve.viewer.Workspace, grant)(t.Context(), ""); code(err) != apierr.CodeNotFound {
		t.Errorf("as a connector of another workspace: %v", err)
	}
}

func TestAProviderWithoutRefreshTokens(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.server.SetLifetime(0)
	h.server.KeepRefreshTokens()
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	first, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	h.clock.forward(300 * 24 * time.Hour)
	same, err := h.grants.Token(ada.ctx, grant)
	if err != nil || same.Access != first.Access || same.ExpiresAt != nil {
		t.Errorf("a token without expiry: %v", err)
	}
	// A refresh token that is not replaced stays valid.
	for range 3 {
		if same, err = h.grants.Renew(ada.ctx, grant, same.Access); err != nil {
			t.Fatal(err)
		}
	}
	if !h.server.ValidToken(same.Access) {
		t.Error("the token does not work")
	}
}

func TestARevokedGrantIsDeletedHereAndAtTheProvider(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	grant := h.connect(t, ada, ada.connector)
	token, err := h.grants.Token(ada.ctx, grant)
	must(t, err)
	if err := h.grants.Revoke(eve.ctx, grant); code(err) != apierr.CodeNotFound {
		t.Errorf("eve: %v", err)
	}
	if _, err := h.grants.Token(eve.ctx, grant); code(err) != apierr.CodeNotFound {
		t.Errorf("eve's token: %v", err)
	}
	if err := h.grants.Check(eve.ctx, h.db.Ent, grant, "google_drive"); code(err) != apierr.CodeNotFound {
		t.Errorf("eve's connector: %v", err)
	}
	if err := h.grants.Check(ada.ctx, h.db.Ent, grant, "s3"); code(err) != apierr.InvalidRequest {
		t.Errorf("a bucket: %v", err)
	}
	must(t, h.grants.Check(ada.ctx, h.db.Ent, grant, "google_drive"))
	must(t, h.grants.Revoke(ada.ctx, grant))
	if h.server.ValidToken(token.Access) || h.server.Requests(authserver.RevokePath) != 1 {
		t.Error("the provider still knows the grant")
	}
	if c := h.row(t, ada, ada.connector); c.GrantID != nil || c.Status != connector.StatusNeedsAuth {
		t.Errorf("the connector is %+v", c)
	}
	if err := h.grants.Revoke(ada.ctx, grant); code(err) != apierr.CodeNotFound {
		t.Errorf("a second time: %v", err)
	}
	// A failure of the provider does not prevent the deletion.
	grant = h.connect(t, ada, ada.connector)
	h.server.Fail(authserver.RevokePath, authserver.Fault{Status: 500})
	must(t, h.grants.Revoke(ada.ctx, grant))
	if n, _ := h.db.Ent.OAuthGrant.Query().Count(ada.ctx); n != 0 {
		t.Errorf("%d grants are left", n)
	}
}

func TestALostTokenResponseNeedsANewConsent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	h.clock.forward(2 * time.Hour)
	h.server.Fail(authserver.TokenPath, authserver.Fault{After: true}) // the provider has replaced the token, but the response is lost
	if _, err := h.grants.Token(ada.ctx, grant); connectors.IsNeedsAuth(err) || err == nil {
		t.Errorf("the lost answer: %v", err)
	}
	h.clock.forward(6 * time.Second)
	if _, err := h.grants.Token(ada.ctx, grant); !connectors.IsNeedsAuth(err) {
		t.Errorf("with the token before: %v", err)
	}
}

func TestTheTableOfProvidersIsComplete(t *testing.T) {
	t.Parallel()
	var names []string
	served := map[string]bool{}
	for _, p := range oauth.AllProviders() {
		names = append(names, p.Name)
		for _, endpoint := range []string{p.Base, p.Auth, p.Token, p.Revoke, p.Account, p.AccountAtBase} {
			if endpoint != "" && !strings.HasPrefix(endpoint, "https://") && !strings.HasPrefix(endpoint, "/") {
				t.Errorf("%s: %q is no address", p.Name, endpoint)
			}
		}
		if p.Title == "" || p.Auth == "" || p.Token == "" || len(p.ConnectorTypes) == 0 {
			t.Errorf("%+v lacks something", p)
		}
		for _, kind := range p.ConnectorTypes {
			if served[kind] {
				t.Errorf("%s is served by two", kind)
			}
			served[kind] = true
		}
	}
	if !slices.IsSorted(names) || !slices.Equal(names, config.OAuthProviders()) {
		t.Errorf("the providers are %v, and there are settings for %v", names, config.OAuthProviders())
	}
	for _, kind := range strings.Fields("google_drive sharepoint slack github gitlab confluence jira notion salesforce hubspot servicenow") {
		if !served[kind] {
			t.Errorf("nobody serves %s", kind)
		}
	}
}

// TestRequestsToEachProvider checks what each provider receives.
func TestRequestsToEachProvider(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	var mu sync.Mutex
	var sent *http.Request
	fields := map[string]string{}
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/token" {
			http.NotFound(w, r)
			return
		}
		sent, fields = r, map[string]string{}
		if r.Header.Get("Content-Type") == "application/json" {
			if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
				t.Error(err)
			}
		} else if err := r.ParseForm(); err == nil {
			for name := range r.PostForm {
				fields[name] = r.PostForm.Get(name)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	set := func(o *oauth.Options) {
		o.Clients = map[string]oauth.Client{}
		for _, name := range config.OAuthProviders() {
			o.Clients[name] = oauth.Client{ID: "id", Secret: "secret", URL: server.URL, TokenURL: server.URL + "/token", AccountURL: server.URL + "/nothing"}
		}
	}
	grants := h.node(t, set)
	connect := func(provider, reply string) (oauth.Outcome, string) {
		t.Helper()
		mu.Lock()
		answer = reply
		mu.Unlock()
		begun, err := grants.Begin(ada.ctx, oauth.AuthorizationRequest{Provider: provider})
		must(t, err)
		address := begun.URL
		_, state, _ := strings.Cut(address, "state=")
		state, _, _ = strings.Cut(state, "&")
		out, err := grants.Finish(anonymous(t), oauth.Callback{Provider: provider, State: state, Binding: begun.Binding, Code: "the code"})
		must(t, err)
		return out, address
	}
	out, address := connect("notion", `{"access_token":"a","workspace_name":"Wiki\n of <Ada>"}`)
	if user, _, basic := sent.BasicAuth(); !basic || user != "id" || fields["client_secret"] != "" || !strings.Contains(address, "owner=user") || out.Account != "Wiki of <Ada>" {
		t.Errorf("notion: %v %v %+v", sent.Header, fields, out)
	}
	out, address = connect("slack", `{"ok":true,"access_token":"xoxb","scope":"channels:read,users:read","team":{"id":"T1","name":"Ada's"}}`)
	row := h.grant(t, ada, out.Grant)
	token, err := grants.Token(ada.ctx, out.Grant)
	must(t, err)
	if !strings.Contains(address, "scope=channels%3Ahistory%2Cchannels%3Aread") || out.Account != "Ada's" || !slices.Equal(row.Scopes, []string{"channels:read", "users:read"}) || token.Details["team.id"] != "T1" {
		t.Errorf("slack: %s %+v %+v", address, row, token)
	}
	out, _ = connect("salesforce", `{"access_token":"a","refresh_token":"r","instance_url":"https://ada.my.salesforce.com"}`)
	row = h.grant(t, ada, out.Grant)
	if fields["client_secret"] != "secret" || fields["code_verifier"] == "" || row.ExpiresAt == nil || row.ExpiresAt.Sub(h.clock.now()) != time.Hour {
		t.Errorf("salesforce: %v %+v", fields, row)
	}
	h.clock.forward(2 * time.Hour)
	mu.Lock()
	answer = `{"access_token":"b"}`
	mu.Unlock()
	if token, err := grants.Token(ada.ctx, out.Grant); err != nil || token.Access != "b" || token.Details["instance_url"] != "https://ada.my.salesforce.com" || fields["refresh_token"] != "r" {
		t.Errorf("salesforce, renewed: %+v %v", token, err)
	}
	for _, provider := range []string{"atlassian", "github", "gitlab", "google", "hubspot", "microsoft", "servicenow"} {
		out, address := connect(provider, `{"access_token":"a","expires_in":3600}`)
		if out.Grant == uuid.Nil || !strings.HasPrefix(address, server.URL) || !strings.Contains(address, "code_challenge_method=S256") || fields["client_id"] != "id" {
			t.Errorf("%s: %+v %s %v", provider, out, address, fields)
		}
	}
}
