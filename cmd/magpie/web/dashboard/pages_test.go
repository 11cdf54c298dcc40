package dashboard_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// pages are the addresses of all pages of signed-in people, and the least role that has
// one in the menu. An id in braces is one of the world. Pages of the same path do not follow each other, so that goTo can
// go from one to the next.
func pages() []struct{ path, role string } {
	return []struct{ path, role string }{
		{"/search?q=lamp", "VIEWER"},
		{"/ask", "VIEWER"},
		{"/documents", "VIEWER"},
		{"/documents/{document}", "VIEWER"},
		{"/collections", "VIEWER"},
		{"/collections/{collection}", "VIEWER"},
		{"/connectors", "VIEWER"},
		{"/connectors/new", "EDITOR"},
		{"/connectors/new/github", "EDITOR"},
		{"/connectors/{connector}", "VIEWER"},
		{"/databases", "VIEWER"},
		{"/databases/{database}", "VIEWER"},
		{"/analytics", "EDITOR"},
		{"/agents", "VIEWER"},
		{"/agents/new", "EDITOR"},
		{"/agents/{agent}", "VIEWER"},
		{"/agents/{agent}/edit", "EDITOR"},
		{"/agents/{acting}/runs/{run}", "OWNER"},
		{"/approvals", "VIEWER"},
		{"/approvals/{approval}", "OWNER"},
		{"/approvals/settings", "ADMIN"},
		{"/automations", "EDITOR"},
		{"/automations/new", "EDITOR"},
		{"/automations/{automation}", "EDITOR"},
		{"/integrations", "VIEWER"},
		{"/integrations/new", "ADMIN"},
		{"/integrations/{integration}", "VIEWER"},
		{"/inbound", "EDITOR"},
		{"/inbound/new", "EDITOR"},
		{"/inbound/{inbound}", "EDITOR"},
		{"/keys", "ADMIN"},
		{"/keys/new", "ADMIN"},
		{"/keys/{key}", "ADMIN"},
		{"/widget", "ADMIN"},
		{"/people", "VIEWER"},
		{"/audit", "ADMIN"},
		{"/usage", "VIEWER"},
		{"/applications", "VIEWER"},
		{"/system", "ADMIN"},
		{"/account", "VIEWER"},
		{"/welcome", "EDITOR"},

		{"/connectors/{connector}?tab=syncs", "VIEWER"},
		{"/search", "VIEWER"},
		{"/ask/{conversation}", "OWNER"},
		{"/collections/{collection}?tab=connectors", "VIEWER"},
		{"/documents/{document}?tab=passages", "VIEWER"},
		{"/people?tab=invitations", "ADMIN"},
		{"/connectors/{connector}?tab=items", "VIEWER"},
		{"/agents/{agent}?tab=conversations", "VIEWER"},
		{"/documents?view=restrictions", "ADMIN"},
		{"/collections/{collection}?tab=reliability", "VIEWER"},
		{"/connectors/{connector}?tab=documents", "VIEWER"},
		{"/documents/{document}?tab=details", "VIEWER"},
		{"/agents/{agent}?tab=runs", "VIEWER"},
		{"/people?tab=roles", "VIEWER"},
		{"/connectors/{connector}?tab=plan", "VIEWER"},
		{"/collections/{collection}?tab=settings", "EDITOR"},
		{"/documents/{document}?tab=readers", "VIEWER"},
		{"/agents/{agent}?tab=memories", "VIEWER"},
		{"/people?tab=groups", "ADMIN"},
		{"/connectors/{connector}?tab=quarantine", "VIEWER"},
		{"/agents?tab=templates", "VIEWER"},
		{"/documents/{document}?tab=history", "VIEWER"},
		{"/people?tab=why", "ADMIN"},
		{"/connectors/{connector}?tab=files", "VIEWER"},
		{"/approvals?tab=history", "VIEWER"},
		{"/agents/{agent}?tab=permissions", "VIEWER"},
		{"/people?tab=sign-in", "VIEWER"},
		{"/connectors/{connector}?tab=settings", "EDITOR"},
		{"/automations/{automation}?tab=settings", "OWNER"},
	}
}

// doors are the pages of visitors, and those that end a way through another service. Their alerts are what they are for.
func doors() (visitors, returning []string) {
	return []string{"/sign-in", "/sign-up", "/reset-password#token=x", "/accept-invitation#token=x", "/oidc#error=forbidden", "/saml#error=forbidden"},
		[]string{"/oauth-done?oauth=connected&provider=github", "/oauth-confirm", loginPage}
}

// loginPage is where the command line asks for a token.
const loginPage = "/command-line#redirect_uri=http%3A%2F%2F127.0.0.1%3A1234%2Fcallback&state=s&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&device=laptop"

// address puts the ids of the world into a path.
func (m *world) address(path string) string {
	return strings.NewReplacer("{document}", m.document, "{collection}", m.collection, "{connector}", m.connector, "{agent}", m.agent,
		"{automation}", m.automation, "{integration}", m.integration, "{inbound}", m.inbound, "{key}", m.key,
		"{database}", m.database, "{run}", m.run, "{acting}", m.acting, "{approval}", m.approval, "{conversation}", m.conversation).Replace(path)
}

// troubles are the texts of a page's alerts and notifications.
const troubles = `all("[role=alert]").map((e) => e.innerText).concat(all(".mantine-Notification-root").map((e) => e.innerText)).join("; ")`

// TestPages reads all pages of a workspace in use.
func TestPages(t *testing.T) {
	m := newWorld(t)
	m.isUsed(t)
	t.Run("by keyboard", func(t *testing.T) { keyboardFlow(t, m) })
	t.Run("by role", func(t *testing.T) { pagesOfRoles(t, m) })
	t.Run("in two tabs", func(t *testing.T) { tabsRefreshOnce(t, m) })
	t.Run("of a service that fails", func(t *testing.T) { problemsNameTheirRequest(t, m) })
	t.Run("accessible", func(t *testing.T) { accessiblePages(t, m) })
	t.Run("in German", func(t *testing.T) { germanPages(t, m) })
	t.Run("left open", func(t *testing.T) { pagesLeftOpen(t, m) })
}

// pagesOfRoles opens every page as somebody of each role. None fails, and none that the role has says that it is for others. The
// owner, who has all, is accessiblePages.
func pagesOfRoles(t *testing.T, m *world) {
	ranks := []string{"VIEWER", "EDITOR", "ADMIN", "OWNER"}
	for rank, role := range ranks[:3] {
		t.Run(strings.ToLower(role), func(t *testing.T) {
			email, password := m.Member(role)
			p := signIn(t, m.Magpie, email, password, "/search")
			for _, page := range pages() {
				least := slices.Index(ranks, page.role)
				if least == len(ranks)-1 {
					continue // of the owner's own
				}
				p.goTo(m.address(page.path))
				p.opened(page.path, rank >= least)
				if rank >= least && p.holds(`says("This page is for ")`) {
					t.Errorf("%s is told that %s is for others", role, page.path)
				}
			}
			p.keepsNoToken()
			p.Clean()
		})
	}
}

// keepsNoToken checks that scripts of the page find neither token of the session after it was used: the access token is in
// memory alone, and the refresh token in a cookie that they cannot read.
func (p *person) keepsNoToken() {
	p.t.Helper()
	p.Eval(`fetch("/api/v1/auth/refresh?cookie=1", {method: "POST"}).then((r) => r.json()).then((answer) => { window.answered = answer; })`, nil)
	if !p.holds(`(answered.data ?? answered).access_token.length > 20`) {
		p.t.Error("a refresh gives no access token")
	}
	if p.holds(`JSON.stringify(answered).includes("refresh_token\":\"")`) || p.Text(`document.cookie`) != "" {
		p.t.Error("scripts can read the refresh token")
	}
	// Tokens have points, or a prefix, and are longer than anything that is kept.
	kept := p.Text(`JSON.stringify([...Object.entries(localStorage), ...Object.entries(sessionStorage)].filter(([, value]) => /\S{20,}/.test(value)))`)
	if kept != "[]" {
		p.t.Errorf("the browser keeps %s", kept)
	}
}

// opened checks that a page is there, and has no trouble for somebody who may see it.
func (p *person) opened(path string, may bool) {
	p.t.Helper()
	if title := p.Text(`title()`); title == "Nothing is here" || title == "This page has failed" {
		p.t.Errorf("%s: %s", path, title)
	}
	if said := p.Text(troubles); said != "" && may {
		p.t.Errorf("%s says %q", path, said)
	}
	if title := p.Text(`document.title`); !strings.HasSuffix(title, " · Magpie") {
		p.t.Errorf("%s has the title %q", path, title)
	}
}

func accessiblePages(t *testing.T, m *world) {
	visitors, returning := doors()
	v := visitor(t, m.Magpie, "/sign-in")
	for _, path := range visitors {
		v.Do(blank) // another fragment alone would load nothing
		v.open(path)
		v.accessible(path)
	}
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	// The frame of all pages, once and in all its looks.
	p.accessible("/search")
	p.framed = true
	for _, page := range pages() {
		p.goTo(m.address(page.path))
		p.opened(page.path, true)
		p.accessible(page.path)
	}
	for _, path := range returning {
		p.goTo(path)
		p.accessible(path)
	}
	p.Clean()
}

// pattern returns what matches the addresses of a route, such as /keys/$keyId.
func pattern(route string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.MustCompile(`\$\w+`).ReplaceAllString(route, `[^/]+`) + "$")
}

// A new page is in the list of those that are opened by every role and checked by axe.
func TestEveryRouteIsInTheListOfPages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("src/pages/*/routes.tsx")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	var routes []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`path: '([^']+)'`).FindAllSubmatch(text, -1) {
			route := string(found[1])
			if route == "$conversationId" { // its parent is that of questions
				route = "/ask/" + route
			}
			routes = append(routes, route)
		}
	}
	visitors, returning := doors()
	listed := slices.Concat(visitors, returning)
	for _, page := range pages() {
		listed = append(listed, page.path)
	}
	has := map[string]bool{"/": true} // leads to another page
	for _, address := range listed {
		path := regexp.MustCompile(`[?#].*`).ReplaceAllString(address, "")
		at := slices.Index(routes, path)
		if at < 0 {
			at = slices.IndexFunc(routes, func(route string) bool { return pattern(route).MatchString(path) })
		}
		if at < 0 {
			t.Errorf("no route has the page %s", address)
			continue
		}
		has[routes[at]] = true
	}
	for _, route := range routes {
		if !has[route] {
			t.Errorf("the list of pages has none of the route %s", route)
		}
	}
}
