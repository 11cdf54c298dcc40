package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/oauthgrant"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAConnectionMakesAGrantThatWorks(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	begun, err := h.grants.Begin(ada.ctx, oauth.AuthorizationRequest{Provider: "google", Connector: &ada.connector, ReturnTo: "https://app.example.com/connectors?tab=1"})
	must(t, err)
	if got := begun.ExpiresAt.Sub(h.clock.now()); got != 10*time.Minute {
		t.Errorf("the state lives %s", got)
	}
	address := begun.URL
	to, err := url.Parse(address)
	must(t, err)
	q := to.Query()
	if len(begun.Binding) != 43 || strings.Contains(address, begun.Binding) || q.Get("code_challenge_method") != "S256" || q.Get("access_type") != "offline" || q.Get("redirect_uri") != baseURL+"/api/v1/oauth/callback/google" ||
		len(q.Get("state")) != 43 || !strings.Contains(q.Get("scope"), "drive.readonly") {
		t.Errorf("the authorization address is %s", address)
	}
	back := returned("google", h.server.Browse(t, address))
	back.Binding = begun.Binding
	out, err := h.grants.Finish(anonymous(t), back)
	must(t, err)
	place, err := url.Parse(out.ReturnTo)
	must(t, err)
	if got := place.Query(); place.Host != "app.example.com" || got.Get("tab") != "1" || got.Get("oauth") != "connected" || got.Get("grant") != out.Grant.String() ||
		got.Get("connector") != ada.connector.String() || got.Has("code") || got.Has("access_token") {
		t.Errorf("the browser goes to %s", out.ReturnTo)
	}
	row := h.grant(t, ada, out.Grant)
	if row.Status != oauthgrant.StatusActive || row.Provider != "google" || row.PersonID == nil || *row.PersonID != ada.viewer.Subject ||
		row.Account == nil || *row.Account != "ada@example.com" || row.ExpiresAt == nil || !slices.Contains(row.Scopes, "openid") {
		t.Errorf("the grant is %+v", row)
	}
	if c := h.row(t, ada, ada.connector); c.GrantID == nil || *c.GrantID != out.Grant || c.Status != connector.StatusActive {
		t.Errorf("the connector is %+v", c)
	}
	token, err := h.grants.Token(ada.ctx, out.Grant)
	must(t, err)
	if !h.server.ValidToken(token.Access) {
		t.Error("the access token does not work")
	}
	if bytes.Contains(row.Tokens, []byte(token.Access)) {
		t.Error("the token is stored in the clear")
	}
	if strings.Contains(row.String(), token.Access) {
		t.Error("the row shows its token")
	}
}

func TestAStateWorksOnceForItsProviderUntilItExpires(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	refused := func(what string, r oauth.Callback) {
		t.Helper()
		out, err := h.grants.Finish(anonymous(t), r)
		if code(err) != apierr.InvalidRequest || !strings.HasPrefix(err.Error(), "state: ") || out.ReturnTo != "" {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
	}
	s := oauth.AuthorizationRequest{Provider: "google", ReturnTo: "https://app.example.com/"}
	used := h.begin(t, ada, s)
	_, err := h.grants.Finish(anonymous(t), used)
	must(t, err)
	refused("a second use", used)
	for _, state := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 5000), "\x00", used.State[:42] + "!"} {
		refused("an unknown state", oauth.Callback{Provider: "google", State: state, Code: "c"})
	}
	other := h.begin(t, ada, s)
	other.Provider = "github"
	refused("another provider", other)
	other.Provider = "google"
	refused("after another provider", other)
	late := h.begin(t, ada, s)
	h.clock.forward(10 * time.Minute)
	refused("an expired one", late)
	if n, err := h.db.Ent.OAuthGrant.Query().Count(ada.ctx); err != nil || n != 1 {
		t.Errorf("%d grants, %v", n, err)
	}
	if _, err := h.grants.Finish(anonymous(t), oauth.Callback{Provider: "myspace", State: used.State}); code(err) != apierr.CodeNotFound {
		t.Errorf("an unknown provider: %v", err)
	}
	// Put deletes expired flows.
	h.begin(t, ada, s)
	var kept int
	must(t, h.db.Pool.QueryRow(t.Context(), "select count(*) from oauth_flows").Scan(&kept))
	if kept != 1 {
		t.Errorf("%d flows are kept", kept)
	}
}

func TestAStateSurvivesARestartAndCompletesOneConnection(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	back := h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
	h.grants.Close() // the node that started the connection has ended
	nodes := []*oauth.Grants{h.node(t), h.node(t)}
	var done, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			switch _, err := nodes[i%2].Finish(anonymous(t), back); {
			case err == nil:
				done.Add(1)
			case code(err) == apierr.InvalidRequest:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if done.Load() != 1 || refused.Load() != 15 {
		t.Errorf("%d ended the connection, %d were refused", done.Load(), refused.Load())
	}
}

func TestOnlyTheBrowserThatStartedCanFinish(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	s := oauth.AuthorizationRequest{Provider: "google", Connector: &ada.connector, ReturnTo: "https://app.example.com/"}
	back, mine := h.begin(t, ada, s), h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
	for what, binding := range map[string]string{"none": "", "another flow's": mine.Binding, "a guess": strings.Repeat("A", 43), "the state": back.State} {
		try := back
		try.Binding = binding
		out, err := h.grants.Finish(anonymous(t), try)
		if code(err) != apierr.InvalidRequest || !strings.HasPrefix(err.Error(), "state: ") || out != (oauth.Outcome{}) {
			t.Errorf("%s: %+v, %v", what, out, err)
		}
	}
	if n := h.server.Requests(authserver.TokenPath); n != 0 {
		t.Errorf("%d codes were exchanged", n)
	}
	if _, err := h.grants.Finish(anonymous(t), back); err != nil {
		t.Errorf("the browser that began: %v", err)
	}
	mine.Binding = ""
	if _, err := h.grants.Finish(ada.ctx, mine); err != nil {
		t.Errorf("another program of who began: %v", err)
	}
}

func TestAGrantWhoseKeyIsLostNeedsANewConnection(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	old, err := secret.NewBox(map[string][]byte{"gone-2024": make([]byte, secret.KeyBytes)}, "gone-2024")
	must(t, err)
	sealed, err := old.Seal([]byte(`{"access":"a"}`), secret.AAD("oauth_grants", grant.String()))
	must(t, err)
	must(t, h.db.Ent.OAuthGrant.UpdateOneID(grant).SetTokens(sealed).Exec(viewer.With(t.Context(), viewer.System(ada.viewer.Workspace))))
	_, err = h.grants.Token(ada.ctx, grant)
	needs, ok := errors.AsType[interface {
		error
		NeedsAuth() bool
	}](err)
	if !ok || !needs.NeedsAuth() || !strings.Contains(err.Error(), `"gone-2024"`) || !strings.Contains(err.Error(), "connect again") {
		t.Errorf("a token of it: %v", err)
	}
	if again := h.connect(t, ada, ada.connector); again != grant {
		t.Errorf("the connector has another grant now")
	}
	if _, err := h.grants.Token(ada.ctx, grant); err != nil {
		t.Errorf("repeated: %v", err)
	}
}

func TestOriginsOfAProvider(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	enterprise := h.node(t, func(o *oauth.Options) {
		o.Clients = map[string]oauth.Client{"github": {URL: "https://git.example.com"}}
	})
	for _, c := range []struct {
		grants           *oauth.Grants
		provider, origin string
		want             bool
	}{
		{h.grants, "github", "https://api.github.com:443", true}, {h.grants, "github", "https://GitHub.com", true}, {h.grants, "github", "http://127.0.0.1:80", true},
		{h.grants, "github", "https://github.com.evil.example", false}, {h.grants, "github", "https://evilgithub.com", false}, {h.grants, "github", "", false},
		{h.grants, "github", "http://api.github.com:80", false}, {h.grants, "github", "http://github.com:80", false}, {h.grants, "github", "https://api.github.com:8443", false},
		{h.grants, "myspace", "https://github.com", false}, {h.grants, "slack", "https://slack.com", true}, {h.grants, "slack", "https://slack-gov.com", false},
		{enterprise, "github", "https://git.example.com", true}, {enterprise, "github", "https://example.com", false},
		{enterprise, "github", "http://git.example.com", false}, {enterprise, "github", "https://git.example.com:8443", false},
	} {
		if got := c.grants.OwnsOrigin(c.provider, c.origin); got != c.want {
			t.Errorf("%s of %s: %v", c.origin, c.provider, got)
		}
	}
}

func TestASessionAtTheCallbackMustBeOfThePersonWhoStarted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	elsewhere := ada.viewer
	elsewhere.Workspace = eve.viewer.Workspace
	for what, as := range map[string]viewer.Viewer{"another person": eve.viewer, "another workspace": elsewhere} {
		back := h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
		if _, err := h.grants.Finish(viewer.With(t.Context(), as), back); code(err) != apierr.Forbidden {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := h.grants.Finish(ada.ctx, back); code(err) != apierr.InvalidRequest {
			t.Errorf("%s: the state still works: %v", what, err)
		}
	}
	if _, err := h.grants.Finish(ada.ctx, h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})); err != nil {
		t.Errorf("the person themselves: %v", err)
	}
	if n, _ := h.db.Ent.OAuthGrant.Query().Count(eve.ctx); n != 0 {
		t.Errorf("eve has %d grants", n)
	}
}

func TestAPersonWhoLostTheRoleCannotFinish(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	member := membership.UserID(ada.viewer.Subject)
	back := h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
	must(t, h.db.Ent.Membership.Update().Where(member).SetRole(membership.RoleViewer).Exec(system))
	if _, err := h.grants.Finish(anonymous(t), back); code(err) != apierr.Forbidden {
		t.Errorf("a viewer: %v", err)
	}
	back = h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
	_, err := h.db.Ent.Membership.Delete().Where(member).Exec(system)
	must(t, err)
	if _, err := h.grants.Finish(anonymous(t), back); code(err) != apierr.Forbidden {
		t.Errorf("nobody's member: %v", err)
	}
	if h.server.Requests(authserver.TokenPath) != 0 {
		t.Error("a code was exchanged")
	}
}

func TestARefusalByTheProviderIsReported(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.server.SignIn(authserver.Account{Subject: "1", Denies: true})
	_, err := h.grants.Finish(anonymous(t), h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"}))
	if code(err) != apierr.InvalidRequest || apierr.From(err).Message != "Google did not grant access: access_denied (The user denied access)" {
		t.Errorf("without a place: %v", err)
	}
	out, err := h.grants.Finish(anonymous(t), h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google", ReturnTo: baseURL + "/done"}))
	must(t, err)
	place, err := url.Parse(out.ReturnTo)
	must(t, err)
	if q := place.Query(); out.Grant != uuid.Nil || q.Get("oauth") != "failed" || q.Get("error") != "access_denied" || !strings.Contains(q.Get("error_description"), "The user denied access") {
		t.Errorf("with a place: %+v", out)
	}
	hostile := h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
	hostile.Error, hostile.Description = "x\r\nSet-Cookie: a=b", "<script>\x00"+strings.Repeat("ä", 5000)
	_, err = h.grants.Finish(anonymous(t), hostile)
	if m := apierr.From(err).Message; strings.ContainsAny(m, "\r\n\x00") || len(m) > 600 {
		t.Errorf("the provider's words: %q", m)
	}
}

func TestErrorsOfTheTokenEndpointAreReported(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for _, try := range []struct {
		fault authserver.Fault
		want  apierr.Code
	}{
		{authserver.Fault{Status: 400, Error: "invalid_grant"}, apierr.InvalidRequest},
		{authserver.Fault{Status: 500}, apierr.Unavailable},
		{authserver.Fault{Status: 503, Error: "temporarily_unavailable"}, apierr.Unavailable},
		{authserver.Fault{Status: 429}, apierr.Unavailable},
		{authserver.Fault{Status: 401, Error: "invalid_client"}, apierr.Unavailable},
		{authserver.Fault{Status: 200}, apierr.Unavailable}, // a page of HTML
		{authserver.Fault{Status: 200, Error: "bad_verification_code"}, apierr.InvalidRequest},
		{authserver.Fault{Status: 302}, apierr.InvalidRequest},
	} {
		h.server.Fail(authserver.TokenPath, try.fault)
		back := h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
		_, err := h.grants.Finish(anonymous(t), back)
		if code(err) != try.want {
			t.Errorf("%+v: %v", try.fault, err)
		}
		if err != nil && strings.Contains(err.Error(), back.Code) {
			t.Errorf("%+v: the error repeats the code", try.fault)
		}
	}
	if n, _ := h.db.Ent.OAuthGrant.Query().Count(ada.ctx); n != 0 {
		t.Errorf("%d grants were made", n)
	}
	if _, err := h.grants.Finish(anonymous(t), func() oauth.Callback {
		back := h.begin(t, ada, oauth.AuthorizationRequest{Provider: "google"})
		back.Code = ""
		return back
	}()); code(err) != apierr.InvalidRequest {
		t.Errorf("without a code: %v", err)
	}
}

func TestBrowsersAreRedirectedToKnownOriginsOnly(t *testing.T) {
	t.Parallel()
	origins := oauth.NewReturnOrigins("https://magpie.example.com:8443/base", []string{"https://app.example.com", "http://localhost:5173", "*"})
	for _, good := range []string{
		"https://magpie.example.com:8443/", "https://app.example.com", "https://app.example.com:443/x?y=z", "HTTPS://APP.example.com/x", "http://localhost:5173/a",
	} {
		if got, err := origins.Check("f", good); err != nil || got == "" {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"https://evil.example.com/", "https://app.example.com.evil.com/", "https://app.example.com@evil.com/", "https://evil.com#https://app.example.com",
		"//app.example.com/x", "/connectors", "javascript:alert(1)", "https:app.example.com", "https://app.example.com\\@evil.com/", "https://app.example.com/\r\nX: y",
		"https:///evil.com", "http://app.example.com/", "https://app.example.com:8443/", "https://user:pw@app.example.com/", "https://app.example.com/#x", " https://app.example.com/",
		"https://app.example.com/" + strings.Repeat("a", 3000), "https://аpp.example.com/", "data:text/html,x", "https://magpie.example.com/", "*",
	} {
		if got, err := origins.Check("redirectUrl", bad); code(err) != apierr.InvalidRequest || got != "" || !strings.HasPrefix(err.Error(), "redirectUrl: ") {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

func FuzzReturnOrigins(f *testing.F) {
	origins := oauth.NewReturnOrigins("https://magpie.example.com", nil)
	f.Add("https://magpie.example.com/x?y#z")
	f.Add("https://magpie.example.com\\.evil.com")
	f.Fuzz(func(t *testing.T, address string) {
		got, err := origins.Check("f", address)
		if err != nil || got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme != "https" || !strings.EqualFold(u.Hostname(), "magpie.example.com") || strings.ContainsAny(got, "\r\n\\ ") {
			t.Errorf("%q leads to %q", address, got)
		}
	})
}

func TestBeginChecksItsInput(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	bucket := h.connector(t, ada, "s3")
	missing := uuid.New()
	for what, try := range map[string]struct {
		ctx   context.Context
		start oauth.AuthorizationRequest
		code  apierr.Code
		text  string
	}{
		"an unknown provider":  {ada.ctx, oauth.AuthorizationRequest{Provider: "myspace"}, apierr.InvalidRequest, "provider: must be one of atlassian, github"},
		"none":                 {ada.ctx, oauth.AuthorizationRequest{}, apierr.InvalidRequest, "provider: must be one of"},
		"one not set up":       {ada.ctx, oauth.AuthorizationRequest{Provider: "slack"}, apierr.InvalidRequest, "the operator sets OAUTH_SLACK_CLIENT_ID and OAUTH_SLACK_CLIENT_SECRET"},
		"one without a place":  {ada.ctx, oauth.AuthorizationRequest{Provider: "servicenow"}, apierr.InvalidRequest, "OAUTH_SERVICENOW_URL"},
		"eve's connector":      {eve.ctx, oauth.AuthorizationRequest{Provider: "google", Connector: &ada.connector}, apierr.CodeNotFound, "Connector not found"},
		"no connector":         {ada.ctx, oauth.AuthorizationRequest{Provider: "google", Connector: &missing}, apierr.CodeNotFound, "Connector not found"},
		"another kind":         {ada.ctx, oauth.AuthorizationRequest{Provider: "google", Connector: &bucket}, apierr.InvalidRequest, "connectorId: a connector of type s3 does not use google"},
		"a place of strangers": {ada.ctx, oauth.AuthorizationRequest{Provider: "google", ReturnTo: "https://evil.com/"}, apierr.InvalidRequest, "redirectUrl: "},
		"nobody":               {anonymous(t), oauth.AuthorizationRequest{Provider: "google"}, apierr.Unauthorized, "Session required"},
	} {
		begun, err := h.grants.Begin(try.ctx, try.start)
		address := begun.URL
		if code(err) != try.code || begun != (oauth.Authorization{}) || !strings.Contains(err.Error(), try.text) {
			t.Errorf("%s: %q, %v", what, address, err)
		}
	}
	var kept int
	must(t, h.db.Pool.QueryRow(t.Context(), "select count(*) from oauth_flows").Scan(&kept))
	if kept != 0 {
		t.Errorf("%d flows were kept of refusals", kept)
	}
}

func TestAGrantOutlivesThePersonWhoMadeIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	grant := h.connect(t, ada, ada.connector)
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	_, err := h.db.Ent.Membership.Delete().Where(membership.UserID(ada.viewer.Subject)).Exec(system)
	must(t, err)
	row, err := h.db.Ent.OAuthGrant.Get(system, grant)
	must(t, err)
	if row.PersonID != nil {
		t.Errorf("the grant is still %v's", row.PersonID)
	}
	if _, err := h.grants.Token(viewer.With(t.Context(), viewer.System(ada.viewer.Workspace)), grant); err != nil {
		t.Errorf("the grant does not work any more: %v", err)
	}
}
