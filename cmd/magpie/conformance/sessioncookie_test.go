package conformance_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

// sessionCookieHolds is the row of sessions that a browser keeps in a cookie.
func sessionCookieHolds(t *testing.T, s *site) {
	const login, refresh, logout = "/api/v1/auth/login", "/api/v1/auth/refresh", "/api/v1/auth/logout"
	sign := `{"email":"` + email + `","password":"` + password + `"}`
	own := []string{"Sec-Fetch-Site", "same-origin"}
	// kept is the cookie that an answer sets, which has to be the only one.
	kept := func(what string, a answer) *http.Cookie {
		t.Helper()
		cookies := (&http.Response{Header: a.header}).Cookies()
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode || cookies[0].Path != "/api/v1/auth" {
			t.Fatalf("%s: the cookies are %v", what, a.header.Values("Set-Cookie"))
		}
		return cookies[0]
	}
	with := func(c *http.Cookie) []string { return append(own[:2:2], "Cookie", "theme=dark; "+c.Name+"="+c.Value) }

	if got := data(t, "without the parameter", s.atDashboard(t, "POST", login, sign, own...), 200); got["refresh_token"] == nil {
		t.Errorf("without the parameter: %v", got)
	}
	a := s.atDashboard(t, "POST", login+"?cookie=1", sign, own...)
	got := data(t, "sign-in", a, 200)
	first := kept("sign-in", a)
	if got["refresh_token"] != nil || got["access_token"] == nil || got["expires_at"] == nil || first.MaxAge != 30*24*60*60 || first.Secure || strings.Contains(a.body, first.Value) {
		t.Errorf("sign-in: %v, %v", got, first)
	}
	a = s.atDashboard(t, "POST", refresh+"?cookie=1", "", with(first)...)
	got = data(t, "refresh", a, 200)
	second := kept("refresh", a)
	if second.Value == first.Value || got["refresh_token"] != nil || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("refresh: %v", got)
	}
	for what, c := range map[string]struct {
		path, body string
		headers    []string
		status     int
		code       string
	}{
		"a page of strangers":                  {refresh + "?cookie=1", "", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example", "Cookie", second.Name + "=" + second.Value}, 403, "forbidden"},
		"a page at another port":               {refresh + "?cookie=1", "", []string{"Sec-Fetch-Site", "same-site", "Cookie", second.Name + "=" + second.Value}, 403, "forbidden"},
		"an old browser on a page of others":   {refresh + "?cookie=1", "", []string{"Origin", "https://evil.example", "Cookie", second.Name + "=" + second.Value}, 403, "forbidden"},
		"no browser":                           {refresh + "?cookie=1", "", []string{"Cookie", second.Name + "=" + second.Value}, 403, "forbidden"},
		"a sign-in by a page of strangers":     {login + "?cookie=1", sign, []string{"Sec-Fetch-Site", "cross-site"}, 403, "forbidden"},
		"a cookie, and no parameter":           {refresh, "", with(second), 400, "invalid_request"},
		"another value":                        {login + "?cookie=yes", sign, own, 400, "invalid_request"},
		"a wrong password":                     {login + "?cookie=1", strings.Replace(sign, password, "a bad password", 1), own, 401, "invalid_credentials"},
		"a cookie where a session is needed":   {"/api/v1/auth/logout", "", with(second), 401, "unauthorized"},
		"a cookie in place of a session token": {"/api/v1/auth/workspaces/" + s.workspace.String() + "/switch?cookie=1", "", with(second), 401, "unauthorized"},
	} {
		a := s.atDashboard(t, "POST", c.path, c.body, c.headers...)
		rejected(t, what, a, c.status, c.code, "")
		if set := a.header.Values("Set-Cookie"); len(set) != 0 {
			t.Errorf("%s sets %v", what, set)
		}
	}
	// An old browser, or a service without https at another machine, sends the origin.
	a = s.atDashboard(t, "POST", refresh+"?cookie=1", "", "Origin", s.url, "Cookie", second.Name+"="+second.Value)
	got = data(t, "refresh of an old browser", a, 200)
	third := kept("refresh of an old browser", a)

	for what, cookies := range map[string]string{
		"none": "", "two": third.Name + "=" + third.Value + "; " + third.Name + "=x", "a guess": third.Name + "=x",
		"a huge one": third.Name + "=" + strings.Repeat("x", 8<<10), "garbage": third.Name + "=\xff\x80;;;=;" + third.Name,
	} {
		a := s.atDashboard(t, "POST", refresh+"?cookie=1", "", "Sec-Fetch-Site", "same-origin", "Cookie", cookies)
		rejected(t, what, a, 401, "unauthorized", "")
		if c := kept(what, a); c.MaxAge >= 0 || c.Value != "" {
			t.Errorf("%s: the cookie stays: %v", what, c)
		}
	}

	a = s.atDashboard(t, "POST", logout, "", append(with(third), "Authorization", "Bearer "+got["access_token"].(string))...)
	if c := kept("sign-out", a); a.status != 200 || c.MaxAge >= 0 {
		t.Errorf("sign-out: %d %v", a.status, c)
	}
	rejected(t, "after the sign-out", s.atDashboard(t, "POST", refresh+"?cookie=1", "", with(third)...), 401, "unauthorized", "")

	secure := s.with(t, func(o *rest.Options) { o.Secure, o.PublicURL = true, "https://magpie.example.com" })
	a = secure.atDashboard(t, "POST", login+"?cookie=1", sign, "Origin", "https://magpie.example.com")
	if c := kept("https", a); a.status != 200 || c.Name != "__Secure-magpie_session" || !c.Secure {
		t.Errorf("https: %d %v", a.status, c)
	}
	rejected(t, "http beside https", secure.atDashboard(t, "POST", login+"?cookie=1", sign, "Origin", secure.url), 403, "forbidden", "")
}
