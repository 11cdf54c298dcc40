package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

const refreshPath = "/api/v1/auth/refresh?cookie=1"

// ownPage are the headers of a request that a page of the service's own origin sent.
func ownPage(more ...string) []string {
	return append([]string{"Sec-Fetch-Site", "same-origin"}, more...)
}

// cookiesOf returns the cookies that a response sets.
func cookiesOf(header http.Header) []*http.Cookie { return (&http.Response{Header: header}).Cookies() }

func TestEveryRouteWithTokensCanKeepTheRefreshTokenInACookie(t *testing.T) {
	t.Parallel()
	told := examples()
	maps.Copy(told, peopleExamples())
	var found []string
	for _, route := range rest.Routes() {
		name := route.Method + " " + route.Pattern
		for _, e := range told[name] {
			h := newFixture(t)
			headers := slices.Clone(e.headers)
			if !route.Anonymous && !e.bare {
				headers = append(headers, "Authorization", "Bearer session")
			}
			plain := h.send(request(route.Method, e.target, e.body, headers...))
			if plain.Code >= 300 || !strings.Contains(plain.Body.String(), `"refresh_token":"refresh"`) {
				continue
			}
			if len(cookiesOf(plain.Header())) != 0 {
				t.Errorf("%s sets a cookie that nobody asked for", name)
			}
			found = append(found, name)
			kept := h.send(request(route.Method, e.target+"?cookie=1", e.body, ownPage(headers...)...))
			if want := strings.Replace(plain.Body.String(), `,"refresh_token":"refresh"`, "", 1); kept.Code != plain.Code || kept.Body.String() != want {
				t.Errorf("%s: %d %s, want %s", name, kept.Code, kept.Body, want)
			}
			set := kept.Header().Values("Set-Cookie")
			if want := "magpie_session=refresh; Path=/api/v1/auth; Max-Age=2592000; HttpOnly; SameSite=Strict"; len(set) != 1 || set[0] != want {
				t.Errorf("%s sets %q", name, set)
			}
			h.calls = nil
			if strange := h.send(request(route.Method, e.target+"?cookie=1", e.body, headers...)); strange.Code != http.StatusForbidden || len(h.calls) != 0 {
				t.Errorf("%s: %d %s %v without a sign of a browser", name, strange.Code, strange.Body, h.calls)
			}
			break
		}
	}
	slices.Sort(found)
	want := []string{
		"POST /api/v1/auth/accept-invitation", "POST /api/v1/auth/login", "POST /api/v1/auth/oidc/finish", "POST /api/v1/auth/refresh",
		"POST /api/v1/auth/reset-password", "POST /api/v1/auth/saml/finish", "POST /api/v1/auth/sign-up", "POST /api/v1/auth/workspaces/{id}/switch", "POST /api/v1/invitations/accept",
	}
	if !slices.Equal(found, want) {
		t.Errorf("the routes are %q", found)
	}
}

func TestACookieIsOnlyForPagesOfTheServicesOwnOrigin(t *testing.T) {
	t.Parallel()
	const own = "https://magpie.example.com"
	h := newFixture(t, func(o *rest.Options) {
		o.Secure, o.PublicURL, o.Origins = true, own+":443/", []string{"https://app.example.com"}
	})
	for _, c := range []struct {
		headers []string
		allowed bool
	}{
		{[]string{"Sec-Fetch-Site", "same-origin"}, true},
		{[]string{"Sec-Fetch-Site", "same-origin", "Origin", own}, true},
		{[]string{"Origin", own}, true},
		{[]string{"Origin", "https://proxied.example.com"}, true}, // the Host of the request
		{[]string{"Origin", "https://PROXIED.example.com"}, true},
		{[]string{"Origin", "http://proxied.example.com"}, false}, // anybody in the network can be it
		{[]string{"Origin", "https://proxied.example.com.evil.example"}, false},
		{[]string{"Origin", "https://proxied.example.com:8443"}, false},
		{[]string{"Origin", "http://magpie.example.com"}, false},
		{[]string{"Origin", "https://app.example.com"}, false},
		{[]string{"Origin", "https://evil.example"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Origin", ""}, false},
		{[]string{"Origin", "https://"}, false},
		{[]string{"Origin", "%zz"}, false},
		{[]string{"Sec-Fetch-Site", "same-site", "Origin", own}, false},
		{[]string{"Sec-Fetch-Site", "cross-site", "Origin", own}, false},
		{[]string{"Sec-Fetch-Site", "none", "Origin", own}, false},
		{[]string{"Sec-Fetch-Site", "", "Origin", own}, false},
		{[]string{"Sec-Fetch-Site", "Same-Origin"}, false},
		{nil, false},
	} {
		r := request(http.MethodPost, "/api/v1/auth/login?cookie=1", `{"email":"ada@example.com","password":"correct horse"}`, c.headers...)
		r.Host = "proxied.example.com"
		h.calls = nil
		answer := h.send(r)
		cookies := cookiesOf(answer.Header())
		switch {
		case c.allowed && (answer.Code != http.StatusOK || len(cookies) != 1 || cookies[0].Name != "__Secure-magpie_session" || !cookies[0].Secure):
			t.Errorf("%q: %d %s %v", c.headers, answer.Code, answer.Body, cookies)
		case !c.allowed && (answer.Code != http.StatusForbidden || len(cookies) != 0 || len(h.calls) != 0 || !strings.Contains(answer.Body.String(), "own origin")):
			t.Errorf("%q: %d %s %v %v", c.headers, answer.Code, answer.Body, cookies, h.calls)
		}
	}
	twice := request(http.MethodPost, refreshPath, "")
	twice.Header["Sec-Fetch-Site"] = []string{"same-origin", "cross-site"}
	if answer := h.send(twice); answer.Code != http.StatusForbidden {
		t.Errorf("Sec-Fetch-Site twice: %d", answer.Code)
	}
	twice = request(http.MethodPost, refreshPath, "")
	twice.Header["Origin"] = []string{own, "https://evil.example"}
	if answer := h.send(twice); answer.Code != http.StatusForbidden {
		t.Errorf("Origin twice: %d", answer.Code)
	}
}

func TestARefreshTakesTheTokenOfTheCookie(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		target, body, cookie string
		status               int
		token                string // that the resolver got
		clears               bool
	}{
		"the cookie":             {refreshPath, "", "magpie_session=kept", 200, "kept", false},
		"an empty object":        {refreshPath, "{}", "magpie_session=kept", 400, "", false},
		"beside another":         {refreshPath, "", "other=1; magpie_session=kept", 200, "kept", false},
		"the body comes first":   {refreshPath, `{"refresh_token":"given"}`, "magpie_session=kept", 200, "given", false},
		"a refused token":        {refreshPath, "", "magpie_session=refused", 401, "refused", true},
		"a refused body":         {refreshPath, `{"refresh_token":"refused"}`, "magpie_session=kept", 401, "refused", false},
		"an outage":              {refreshPath, "", "magpie_session=outage", 503, "outage", false},
		"no cookie":              {refreshPath, "", "", 401, "", true},
		"an empty one":           {refreshPath, "", "magpie_session=", 401, "", true},
		"two of the name":        {refreshPath, "", "magpie_session=kept; magpie_session=other", 401, "", true},
		"a huge one":             {refreshPath, "", "magpie_session=" + strings.Repeat("x", 513), 401, "", true},
		"garbage":                {refreshPath, "", "magpie_session=\x01\xff; magpie_session", 401, "", true},
		"another name":           {refreshPath, "", "__Secure-magpie_session=kept", 401, "", true},
		"a body of another kind": {refreshPath, `["kept"]`, "magpie_session=kept", 400, "", false},
		"nobody asked":           {"/api/v1/auth/refresh", "", "magpie_session=kept", 400, "", false},
		"another value":          {"/api/v1/auth/refresh?cookie=true", "", "magpie_session=kept", 400, "", false},
		"an empty value":         {"/api/v1/auth/refresh?cookie=", `{"refresh_token":"given"}`, "", 400, "", false},
		"asked twice":            {"/api/v1/auth/refresh?cookie=1&cookie=1", "", "magpie_session=kept", 400, "", false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			answer := h.send(request(http.MethodPost, c.target, c.body, ownPage("Cookie", c.cookie)...))
			if answer.Code != c.status {
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
			want := ""
			if c.token != "" {
				want = fmt.Sprintf(`refreshSession {"refreshToken":%q}`, c.token)
			}
			if got := strings.Join(h.calls, ";"); got != want {
				t.Errorf("calls %q, want %q", got, want)
			}
			cookies := cookiesOf(answer.Header())
			if cleared := len(cookies) == 1 && cookies[0].MaxAge < 0 && cookies[0].Value == "" && cookies[0].Path == "/api/v1/auth"; cleared != c.clears {
				t.Errorf("cookies %v", answer.Header().Values("Set-Cookie"))
			}
			if strings.Contains(answer.Body.String(), "refresh_token\":\"") {
				t.Errorf("the body has the token: %s", answer.Body)
			}
		})
	}
}

func TestTheEndOfASessionRemovesItsCookie(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, target := range []string{"/api/v1/auth/logout", "/api/v1/auth/logout-everywhere"} {
		for cookie, want := range map[string]int{"": 0, "other=1": 0, "magpie_session=kept": 1, "magpie_session=a; magpie_session=b": 1} {
			answer := h.send(request(http.MethodPost, target, "", "Authorization", "Bearer session", "Cookie", cookie))
			cookies := cookiesOf(answer.Header())
			if answer.Code != http.StatusOK || len(cookies) != want || want == 1 && (cookies[0].MaxAge >= 0 || cookies[0].Name != "magpie_session" || !cookies[0].HttpOnly) {
				t.Errorf("%s, %q: %d %v", target, cookie, answer.Code, answer.Header().Values("Set-Cookie"))
			}
		}
		answer := h.send(request(http.MethodPost, target, "", "Cookie", "magpie_session=kept"))
		if answer.Code != http.StatusUnauthorized || len(cookiesOf(answer.Header())) != 0 {
			t.Errorf("%s without a session: %d %v", target, answer.Code, answer.Header())
		}
	}
}

// Browsers share cookies between the ports of a host.
func TestServicesOnOtherPortsHaveOtherCookies(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"http://127.0.0.1:8081": "magpie_session_8081", "http://[::1]:8082/": "magpie_session_8082", "http://magpie.example.com:80/at": "magpie_session",
		"https://magpie.example.com": "__Secure-magpie_session", "https://magpie.example.com:8443": "__Secure-magpie_session_8443", "": "magpie_session",
	} {
		h := newFixture(t, func(o *rest.Options) { o.PublicURL, o.Secure = url, strings.HasPrefix(url, "https://") })
		answer := h.send(request(http.MethodPost, refreshPath, `{"refresh_token":"given"}`, ownPage()...))
		if cookies := cookiesOf(answer.Header()); len(cookies) != 1 || cookies[0].Name != want {
			t.Errorf("%q: %s", url, fmt.Sprint(cookies))
		}
	}
}
