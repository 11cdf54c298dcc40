package stack_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// People of an OpenID provider connect a program without a password of Magpie.
func TestAProgramIsConnectedByAnOpenIDSignIn(t *testing.T) {
	t.Parallel()
	s, provider := startBeside(t)
	b := s.browser()
	client := b.register()

	// leave begins the sign-in and returns where the provider is asked.
	leave := func() string {
		t.Helper()
		_, page, _ := b.get(authorizePath(client, nil))
		if !strings.Contains(page, `name="signon"`) {
			t.Fatalf("the page does not offer the provider:\n%s", page)
		}
		status, page, to := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "signon": {"1"}})
		if status != http.StatusSeeOther || to == nil || !strings.HasPrefix(to.String(), provider.URL) {
			t.Fatalf("%d %v %s", status, to, page)
		}
		return to.String()
	}
	// back returns the address of the page after the provider's answer.
	back := func(address string) *url.URL {
		t.Helper()
		_, text, to := b.get(address)
		if to == nil || to.Path != "/oauth/authorize" || to.Fragment != "" || to.Query().Get("continue") == "" {
			t.Fatalf("the callback leads to %v: %s", to, text)
		}
		return to
	}

	answered := back(provider.Browse(t, leave()).RequestURI())
	if status, page, _ := s.browser().get(answered.RequestURI()); status != http.StatusBadRequest || strings.Contains(page, "Signed in as") {
		t.Errorf("another browser: %d %s", status, page)
	}
	if status, page, _ := b.get(answered.RequestURI()); status == http.StatusOK {
		t.Errorf("a request that another browser spoilt goes on: %s", page)
	}

	answered = back(provider.Browse(t, leave()).RequestURI())
	status, page, _ := b.get(answered.RequestURI())
	if status != http.StatusOK || !strings.Contains(page, "Signed in as "+email) {
		t.Fatalf("%d %s", status, page)
	}
	if status, _, _ := b.get(answered.RequestURI()); status == http.StatusOK {
		t.Error("the answer works twice")
	}
	workspace := regexp.MustCompile(`name="workspace" value="([^"]+)"`).FindStringSubmatch(page)
	status, page, redirect := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "decision": {"allow"}, "workspace": {workspace[1]}})
	if status != http.StatusFound || redirect == nil || redirect.Query().Get("code") == "" {
		t.Fatalf("%d %v %s", status, redirect, page)
	}

	// A refusal leads back to the sign-in, without the words of the address.
	left, err := url.Parse(leave())
	if err != nil {
		t.Fatal(err)
	}
	refused := back("/api/v1/auth/oidc/callback?" + url.Values{"state": {left.Query().Get("state")}, "error": {"access_denied"}, "error_description": {"Call this number"}}.Encode())
	status, page, _ = b.get(refused.RequestURI())
	if status != http.StatusUnauthorized || !strings.Contains(page, `type="password"`) || strings.Contains(page, "Call this number") {
		t.Errorf("%d %s", status, page)
	}
}

func TestWithoutAProviderThePageOffersNone(t *testing.T) {
	t.Parallel()
	b := start(t).browser()
	_, page, _ := b.get(authorizePath(b.register(), nil))
	if strings.Contains(page, "signon") {
		t.Errorf("the page offers a provider:\n%s", page)
	}
	status, page, _ := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "signon": {"1"}})
	if status != http.StatusBadRequest {
		t.Errorf("%d %s", status, page)
	}
}
