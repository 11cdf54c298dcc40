package conformance_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

// connected is a site with an OpenID provider and a Google at one server.
func connected(t *testing.T) (*site, *authserver.Server) {
	t.Helper()
	server := authserver.Start(t)
	const base = "http://magpie.example.com"
	server.Register(authserver.Client{ID: "magpie", Secret: "s3cret", Redirects: []string{
		base + "/api/v1/oauth/callback/google", base + "/api/v1/auth/oidc/callback",
	}})
	s := start(t, map[string]string{
		"BASE_URL": base, "DASHBOARD_ORIGINS": "https://app.example.com",
		"OAUTH_GOOGLE_CLIENT_ID": "magpie", "OAUTH_GOOGLE_CLIENT_SECRET": "s3cret", "OAUTH_GOOGLE_AUTH_URL": server.URL + authserver.AuthorizePath,
		"OAUTH_GOOGLE_TOKEN_URL": server.URL + authserver.TokenPath, "OAUTH_GOOGLE_ACCOUNT_URL": server.URL + authserver.UserinfoPath,
		"OIDC_ISSUER": server.URL, "OIDC_CLIENT_ID": "magpie", "OIDC_CLIENT_SECRET": "s3cret",
	})
	server.SignIn(authserver.Account{Subject: "owner-1", Email: email, Name: "Owner", Verified: true})
	return s, server
}

// at is the path and query of an address, as they reach the service.
func at(u *url.URL) string { return u.RequestURI() }

// atDashboard calls a route of the dashboard; with the session unless headers say otherwise.
func (s *site) atDashboard(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	if len(headers) == 0 {
		headers = []string{"Authorization", "Bearer " + s.token}
	}
	return s.do(t, call{method, path, body, headers})
}

// data is the data of an answer that has to have the status.
func data(t *testing.T, what string, a answer, status int) map[string]any {
	t.Helper()
	var full struct{ Data map[string]any }
	if a.status != status || json.Unmarshal([]byte(a.body), &full) != nil {
		t.Fatalf("%s: answered %d %s", what, a.status, a.body)
	}
	return full.Data
}

// rejected checks an error of the dashboard's surface, which has no rate. An
// empty message is any.
func rejected(t *testing.T, what string, a answer, status int, code, message string) {
	t.Helper()
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != status || body.Error.Code != code || message != "" && body.Error.Message != message {
		t.Errorf("%s: answered %d %s", what, a.status, a.body)
	}
	if a.header.Get("X-Request-Id") == "" || a.header.Get("Location") != "" || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		t.Errorf("%s: the headers are %v", what, a.header)
	}
}

// oauthCases are the rows of OAuth and of the sign-in by an OpenID provider.
func oauthCases() map[string]check {
	nobody := []string{"Accept", "*/*"}
	return map[string]check{
		"4 POST /api/v1/oauth/init": func(t *testing.T, plain *site) {
			s, server := connected(t)
			if a := s.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"google"}`, nobody...); a.status != 401 {
				t.Errorf("without a session: %d", a.status)
			}
			got := data(t, "init", s.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"google"}`), 200)
			address, _ := got["authorizationUrl"].(string)
			if len(got) != 1 || !strings.HasPrefix(address, server.URL+authserver.AuthorizePath+"?") || !strings.Contains(address, "code_challenge_method=S256") {
				t.Errorf("the answer is %v", got)
			}
			rejected(t, "not set up", s.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"slack"}`), 400, "invalid_request",
				"provider: slack is not set up here; the operator sets OAUTH_SLACK_CLIENT_ID and OAUTH_SLACK_CLIENT_SECRET")
			rejected(t, "unknown", s.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"myspace"}`), 400, "invalid_request", "")
			rejected(t, "no connector", s.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"google","connectorId":"`+uuid.NewString()+`"}`), 404, "not_found", "Connector not found")
			rejected(t, "a place of strangers", s.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"google","redirectUrl":"https://evil.example.com/"}`), 400, "invalid_request", "")
			rejected(t, "a site without settings", plain.atDashboard(t, "POST", "/api/v1/oauth/init", `{"provider":"google"}`), 400, "invalid_request", "")
		},
		"4 GET /api/v1/oauth/callback/{provider}": func(t *testing.T, _ *site) {
			s, server := connected(t)
			for _, bad := range []string{"", "?state=x&code=y", "?state=" + strings.Repeat("A", 43) + "&code=y", "?code=y"} {
				a := s.atDashboard(t, "GET", "/api/v1/oauth/callback/google"+bad, "", nobody...)
				rejected(t, "a bad state", a, 400, "invalid_request", "")
				if a.header.Get("Location") != "" {
					t.Errorf("%q redirects to %s", bad, a.header.Get("Location"))
				}
			}
			for _, bad := range []string{"?state=x&code=y", "?state=" + strings.Repeat("A", 43) + "&code=y&iss=https%3A%2F%2Fauth.example.com"} {
				rejected(t, "a bad state of a tool server", s.atDashboard(t, "GET", "/api/v1/oauth/callback/mcp"+bad, "", nobody...), 400, "invalid_request", "")
			}
			rejected(t, "an unknown provider", s.atDashboard(t, "GET", "/api/v1/oauth/callback/myspace?state=x&code=y", "", nobody...), 404, "not_found", "Provider not found")
			ctx := viewer.With(t.Context(), viewer.System(s.workspace))
			row, err := s.app.DB.Ent.Connector.Create().SetName("Drive").SetType("google_drive").SetCollectionID(uuid.MustParse(s.docs.id)).Save(ctx)
			must(t, err)
			// What the browser keeps between the two requests, as a header of the second.
			var kept []string
			begin := func(body string) *url.URL {
				a := s.atDashboard(t, "POST", "/api/v1/oauth/init", body)
				got := data(t, "init", a, 200)
				cookies := (&http.Response{Header: a.header}).Cookies()
				if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].MaxAge != 600 || strings.Contains(a.body, cookies[0].Value) {
					t.Fatalf("the cookies are %v", a.header.Values("Set-Cookie"))
				}
				kept = []string{"Cookie", cookies[0].Name + "=" + cookies[0].Value}
				return server.Browse(t, got["authorizationUrl"].(string))
			}
			back := begin(`{"provider":"google","connectorId":"` + row.ID.String() + `"}`)
			mine := kept
			begin(`{"provider":"google"}`)
			for what, headers := range map[string][]string{"another browser": nobody, "one that began something else": kept, "a guess": {"Cookie", strings.SplitN(mine[1], "=", 2)[0] + "=x"}} {
				rejected(t, what, s.atDashboard(t, "GET", at(back), "", headers...), 400, "invalid_request", "")
			}
			a := s.atDashboard(t, "GET", at(back), "", mine...)
			got := data(t, "callback", a, 200)
			if cookies := (&http.Response{Header: a.header}).Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
				t.Errorf("the cookie stays: %v", a.header.Values("Set-Cookie"))
			}
			if got["provider"] != "google" || got["connectorId"] != row.ID.String() || got["account"] != email || got["redirectUrl"] != nil {
				t.Errorf("the answer is %v", got)
			}
			rejected(t, "a second time", s.atDashboard(t, "GET", at(back), "", mine...), 400, "invalid_request", "")
			// A program of who began may send what came back to a browser that did not.
			if a := s.atDashboard(t, "GET", at(begin(`{"provider":"google"}`)), ""); a.status != 200 {
				t.Errorf("with the session: %d %s", a.status, a.body)
			}
			place := begin(`{"provider":"google","redirectUrl":"https://app.example.com/connectors"}`)
			rejected(t, "another browser, with a place", s.atDashboard(t, "GET", at(place), "", nobody...), 400, "invalid_request", "")
			a = s.atDashboard(t, "GET", at(place), "", kept...)
			to, err := url.Parse(a.header.Get("Location"))
			if err != nil || a.status != http.StatusSeeOther || to.Host != "app.example.com" || to.Query().Get("oauth") != "connected" {
				t.Errorf("%d to %s", a.status, a.header.Get("Location"))
			}
			rejected(t, "a session that is none", s.atDashboard(t, "GET", at(begin(`{"provider":"google"}`)), "", "Authorization", "Bearer x"), 401, "unauthorized", "Session required")
			server.SignIn(authserver.Account{Subject: "1", Denies: true})
			back = begin(`{"provider":"google"}`)
			rejected(t, "the provider's refusal", s.atDashboard(t, "GET", at(back), "", kept...), 400, "invalid_request",
				"Google did not grant access: access_denied (The user denied access)")
		},
		"design sessions in a cookie": sessionCookieHolds,
		"design sign-in by an OpenID provider": func(t *testing.T, plain *site) {
			s, server := connected(t)
			methods := data(t, "methods", s.atDashboard(t, "GET", "/api/v1/auth/methods", "", nobody...), 200)
			if oidc, _ := methods["oidc"].(map[string]any); methods["password"] != true || oidc["issuer"] != server.URL {
				t.Errorf("the methods are %v", methods)
			}
			if methods := data(t, "methods", plain.atDashboard(t, "GET", "/api/v1/auth/methods", "", nobody...), 200); methods["oidc"] != nil {
				t.Errorf("without one: %v", methods)
			}
			rejected(t, "without one", plain.atDashboard(t, "POST", "/api/v1/auth/oidc/start", `{}`, nobody...), 400, "invalid_request", "")
			sign := func() (code, binding string) {
				begun := data(t, "start", s.atDashboard(t, "POST", "/api/v1/auth/oidc/start", `{"redirect_url":"https://app.example.com/in"}`, nobody...), 200)
				a := s.atDashboard(t, "GET", at(server.Browse(t, begun["authorization_url"].(string))), "", nobody...)
				place, fragment, _ := strings.Cut(a.header.Get("Location"), "#")
				values, err := url.ParseQuery(fragment)
				if err != nil || a.status != http.StatusSeeOther || place != "https://app.example.com/in" || values.Get("code") == "" {
					t.Fatalf("the callback answered %d to %s", a.status, a.header.Get("Location"))
				}
				return values.Get("code"), begun["binding"].(string)
			}
			code, binding := sign()
			got := data(t, "finish", s.atDashboard(t, "POST", "/api/v1/auth/oidc/finish", `{"code":"`+code+`","binding":"`+binding+`"}`, nobody...), 200)
			if who, err := s.app.Accounts.Authenticate(t.Context(), got["access_token"].(string)); err != nil || who.Email != email || got["refresh_token"] == nil || got["expires_at"] == nil {
				t.Errorf("signed in as %+v, %v", who, err)
			}
			rejected(t, "a second time", s.atDashboard(t, "POST", "/api/v1/auth/oidc/finish", `{"code":"`+code+`","binding":"`+binding+`"}`, nobody...), 400, "invalid_request", "")
			code, _ = sign()
			rejected(t, "another browser", s.atDashboard(t, "POST", "/api/v1/auth/oidc/finish", `{"code":"`+code+`","binding":"`+binding+`"}`, nobody...), 400, "invalid_request", "")
			server.SignIn(authserver.Account{Subject: "2", Email: "stranger@example.org", Verified: true})
			code, binding = sign()
			rejected(t, "a stranger", s.atDashboard(t, "POST", "/api/v1/auth/oidc/finish", `{"code":"`+code+`","binding":"`+binding+`"}`, nobody...), 403, "forbidden", "")
		},
	}
}
