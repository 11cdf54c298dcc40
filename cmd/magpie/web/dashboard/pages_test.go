package dashboard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// pages are the addresses of all pages of signed-in people, and the least role that has
// one in the menu. An id in braces is one of the world.
func pages() []struct{ path, role string } {
	return []struct{ path, role string }{
		{"/search", "VIEWER"},
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
		{"/connectors/{connector}?tab=items", "VIEWER"},
		{"/connectors/{connector}?tab=files", "VIEWER"},
		{"/connectors/{connector}?tab=settings", "EDITOR"},
		{"/databases", "VIEWER"},
		{"/analytics", "EDITOR"},
		{"/agents", "VIEWER"},
		{"/agents/new", "EDITOR"},
		{"/agents/{agent}", "VIEWER"},
		{"/agents/{agent}/edit", "EDITOR"},
		{"/approvals", "VIEWER"},
		{"/automations", "EDITOR"},
		{"/automations/new", "EDITOR"},
		{"/automations/{automation}", "EDITOR"},
		{"/integrations", "VIEWER"},
		{"/integrations/{integration}", "VIEWER"},
		{"/inbound", "EDITOR"},
		{"/inbound/{inbound}", "EDITOR"},
		{"/keys", "ADMIN"},
		{"/keys/{key}", "ADMIN"},
		{"/widget", "ADMIN"},
		{"/people", "VIEWER"},
		{"/audit", "ADMIN"},
		{"/usage", "VIEWER"},
		{"/applications", "VIEWER"},
		{"/system", "ADMIN"},
		{"/account", "VIEWER"},
		{"/welcome", "EDITOR"},
	}
}

// address puts the ids of the world into a path.
func (m *world) address(path string) string {
	return strings.NewReplacer("{document}", m.document, "{collection}", m.collection, "{connector}", m.connector, "{agent}", m.agent,
		"{automation}", m.automation, "{integration}", m.integration, "{inbound}", m.inbound, "{key}", m.key).Replace(path)
}

// troubles are the texts of a page's alerts and notifications.
const troubles = `all("[role=alert]").map((e) => e.innerText).concat(all(".mantine-Notification-root").map((e) => e.innerText)).join("; ")`

// TestPages reads all pages of a workspace in use.
func TestPages(t *testing.T) {
	m := newWorld(t)
	t.Run("by keyboard", func(t *testing.T) { keyboardFlow(t, m) })
	t.Run("by role", func(t *testing.T) { pagesOfRoles(t, m) })
	t.Run("accessible", func(t *testing.T) { accessiblePages(t, m) })
	t.Run("in German", func(t *testing.T) { germanPages(t, m) })
	t.Run("left open", func(t *testing.T) { pagesLeftOpen(t, m) })
}

// pagesOfRoles opens every page as everybody but the owner, who is accessiblePages.
func pagesOfRoles(t *testing.T, m *world) {
	for rank, role := range []string{"VIEWER", "EDITOR", "ADMIN"} {
		t.Run(strings.ToLower(role), func(t *testing.T) {
			email, password := m.Member(role)
			p := signIn(t, m.Magpie, email, password, "/search")
			for _, page := range pages() {
				p.goTo(m.address(page.path))
				p.opened(page.path, rank >= slices.Index([]string{"VIEWER", "EDITOR", "ADMIN"}, page.role))
			}
			p.Clean()
		})
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
	for _, path := range []string{"/sign-in", "/sign-up", "/reset-password#token=x", "/accept-invitation#token=x"} {
		p := visitor(t, m.Magpie, path)
		p.Until(`settled()`)
		p.accessible(path)
	}
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	for _, page := range pages() {
		p.open(m.address(page.path))
		p.opened(page.path, true)
		p.accessible(page.path)
	}
	p.Clean()
}
