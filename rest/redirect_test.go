package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

func TestACallbackRedirectsWithoutAReferrer(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for target, want := range map[string]string{
		"/api/v1/oauth/callback/google?state=dashboard&code=c":  "https://app.example.com/connectors?oauth=connected&provider=google",
		"/api/v1/auth/oidc/callback?state=dashboard&code=c":     "https://app.example.com/#code=code",
		"/api/v1/oauth/callback/google?state=s&code=c":          "",
		"/api/v1/oauth/callback/google?state=unknown&code=c":    "",
		"/api/v1/auth/oidc/callback?state=unknown&code=c":       "",
		"/api/v1/oauth/callback/google?code=c&redirect_uri=x":   "",
		"/api/v1/oauth/callback/google?state=s&redirectUrl=//x": "",
	} {
		answer := h.send(request(http.MethodGet, target, ""))
		if got := answer.Header().Get("Location"); got != want {
			t.Errorf("%s goes to %q", target, got)
		}
		if redirected := answer.Code == http.StatusSeeOther; redirected != (want != "") {
			t.Errorf("%s: %d", target, answer.Code)
		}
		if answer.Header().Get("Referrer-Policy") != "no-referrer" || answer.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", target, answer.Header())
		}
	}
}

func TestHEADDoesNotUseTheState(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, target := range []string{"/api/v1/oauth/callback/google?state=s&code=c", "/api/v1/auth/oidc/callback?state=s&code=c"} {
		answer := h.send(request(http.MethodHead, target, ""))
		if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET" {
			t.Errorf("HEAD %s: %d, Allow %q", target, answer.Code, answer.Header().Get("Allow"))
		}
	}
	if len(h.calls) != 0 {
		t.Errorf("resolver calls: %v", h.calls)
	}
}

// Only the start of an OAuth flow allows credentials, and only for named origins.
func TestCredentialsAreAllowedForNamedOriginsOnly(t *testing.T) {
	t.Parallel()
	const page = "https://app.example.com"
	for _, c := range []struct {
		origins []string
		path    string
		want    string
	}{
		{[]string{page}, "/api/v1/oauth/init", "true"}, {[]string{page}, "/api/v1/collections", ""},
		{[]string{"https://other.example.com"}, "/api/v1/oauth/init", ""}, {[]string{"*"}, "/api/v1/oauth/init", ""}, {nil, "/api/v1/oauth/init", ""},
	} {
		h := newFixture(t, func(o *rest.Options) { o.Origins = c.origins })
		answer := h.send(request(http.MethodPost, c.path, `{"provider":"google"}`, "Origin", page, "Authorization", "Bearer session"))
		if got := answer.Header().Get("Access-Control-Allow-Credentials"); got != c.want {
			t.Errorf("%v, %s: %q", c.origins, c.path, got)
		}
	}
	h := newFixture(t, func(o *rest.Options) { o.Origins, o.Secure = []string{page}, true })
	for site, want := range map[string]http.SameSite{"": http.SameSiteLaxMode, "same-site": http.SameSiteLaxMode, "cross-site": http.SameSiteNoneMode} {
		answer := h.send(request(http.MethodPost, "/api/v1/oauth/init", `{"provider":"google"}`, "Origin", page, "Authorization", "Bearer session", "Sec-Fetch-Site", site))
		cookies := (&http.Response{Header: answer.Header()}).Cookies()
		if len(cookies) != 1 || cookies[0].SameSite != want || !cookies[0].Secure || !cookies[0].HttpOnly || !strings.HasPrefix(cookies[0].Name, "__Host-magpie_oauth_") || cookies[0].Path != "/" {
			t.Errorf("%q: %v", site, answer.Header().Values("Set-Cookie"))
		}
	}
}
