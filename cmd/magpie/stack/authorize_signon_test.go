package stack_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/testkit/samlserver"
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
		if !strings.Contains(page, `name="signon" value="oidc"`) || strings.Contains(page, `value="saml"`) {
			t.Fatalf("the page does not offer the provider:\n%s", page)
		}
		status, page, to := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "signon": {"oidc"}})
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
	for _, provider := range []string{"oidc", "saml", ""} {
		if status, answer, _ := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "signon": {provider}}); status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", provider, status, answer)
		}
	}
}

// People of a SAML provider connect a program, too.
func TestAProgramIsConnectedByASAMLSignIn(t *testing.T) {
	t.Parallel()
	const base = "http://magpie.example.com"
	idp := samlserver.Start(t)
	s := start(t, map[string]string{"BASE_URL": base, "SAML_METADATA_URL": idp.MetadataURL, "SAML_NAME": "Company <b> account"})
	b := s.browser()
	client := b.register()

	// leave begins the sign-in and returns what the provider lets the browser post.
	leave := func(who samlserver.Person) url.Values {
		t.Helper()
		_, page, _ := b.get(authorizePath(client, nil))
		if !strings.Contains(page, `<button name="signon" value="saml" formnovalidate>Sign in with Company &lt;b&gt; account</button>`) || strings.Contains(page, `value="oidc"`) {
			t.Fatalf("the page does not offer the provider:\n%s", page)
		}
		status, page, to := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "signon": {"saml"}})
		if status != http.StatusSeeOther || to == nil || to.Query().Get("SAMLRequest") == "" {
			t.Fatalf("%d %v %s", status, to, page)
		}
		signed, state := idp.Respond(t, to.String(), who)
		return url.Values{"SAMLResponse": {signed}, "RelayState": {state}}
	}
	// back posts the response and returns the address of the page that follows.
	back := func(form url.Values) *url.URL {
		t.Helper()
		// The provider's page posts from another site, so the browser sends no cookies.
		status, text, to := s.browser().post(signon.SAMLACSPath, form)
		if status != http.StatusSeeOther || to == nil || to.Path != "/oauth/authorize" || to.Fragment != "" || to.Query().Get("continue") == "" {
			t.Fatalf("the response leads to %d %v: %s", status, to, text)
		}
		return to
	}
	owner := samlserver.Person{NameID: "owner-1", Email: email, Name: "Owner"}

	answered := back(leave(owner))
	if status, page, _ := s.browser().get(answered.RequestURI()); status != http.StatusBadRequest || strings.Contains(page, "Signed in as") {
		t.Errorf("another browser: %d %s", status, page)
	}
	answered = back(leave(owner))
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
	if status, tokens := b.exchange(codeForm(client, redirect.Query().Get("code"))); status != http.StatusOK || tokens.Access == "" {
		t.Errorf("%d %+v", status, tokens)
	}

	// People whom nobody has let in, and responses that are refused, lead back to the sign-in.
	for what, form := range map[string]url.Values{
		"a stranger":       leave(samlserver.Person{NameID: "stranger-1", Email: "stranger@example.org", Name: "Stranger"}),
		"a wrong response": {"SAMLResponse": {base64.StdEncoding.EncodeToString([]byte("<Response/>"))}, "RelayState": leave(owner)["RelayState"]},
	} {
		status, page, _ := b.get(back(form).RequestURI())
		if status == http.StatusOK || !strings.Contains(page, `type="password"`) || strings.Contains(page, "Signed in as") {
			t.Errorf("%s: %d %s", what, status, page)
		}
	}
}
