package rest_test

import (
	"net/http"
	"testing"
)

func TestACallbackSendsTheBrowserOnAndKeepsItsAddressToItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for target, want := range map[string]string{
		"/api/v1/oauth/callback/google?state=dashboard&code=c":  "https://app.example.com/connectors?oauth=connected&provider=google",
		"/api/v1/auth/oidc/callback?state=dashboard&code=c":     "https://app.example.com/#code=code",
		"/api/v1/oauth/callback/google?state=s&code=c":          "",
		"/api/v1/oauth/callback/google?state=unknown&code=c":    "",
		"/api/v1/auth/oidc/callback?state=unknown&code=c":       "",
		"/api/v1/oauth/callback/google?code=c&redirect_uri=x":   "",
		"/api/v1/oauth/callback/google?state=s&redirectUrl=//x": "",
	} {
		answer := h.ask(request(http.MethodGet, target, ""))
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

func TestLookingAheadUsesNoStateUp(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, target := range []string{"/api/v1/oauth/callback/google?state=s&code=c", "/api/v1/auth/oidc/callback?state=s&code=c"} {
		answer := h.ask(request(http.MethodHead, target, ""))
		if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET" {
			t.Errorf("HEAD %s: %d, Allow %q", target, answer.Code, answer.Header().Get("Allow"))
		}
	}
	if len(h.calls) != 0 {
		t.Errorf("it called %v", h.calls)
	}
}
