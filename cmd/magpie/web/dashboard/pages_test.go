package dashboard_test

import (
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

func TestEveryPageOpensForEveryRole(t *testing.T) {
	m := newWorld(t)
	ranks := map[string]int{"VIEWER": 0, "EDITOR": 1, "ADMIN": 2, "OWNER": 3}
	for role, rank := range ranks {
		t.Run(strings.ToLower(role), func(t *testing.T) {
			email, password := stacktest.Email, stacktest.Password
			if role != "OWNER" {
				email, password = m.Member(role)
			}
			p := signIn(t, m.Magpie, email, password, "/search")
			for _, page := range pages() {
				p.open(m.address(page.path))
				if title := p.Text(`title()`); title == "Nothing is here" || title == "This page has failed" {
					t.Errorf("%s: %s", page.path, title)
				}
				if said := p.Text(troubles); said != "" && rank >= ranks[page.role] {
					t.Errorf("%s says %q", page.path, said)
				}
				if title := p.Text(`document.title`); !strings.HasSuffix(title, " · Magpie") {
					t.Errorf("%s has the title %q", page.path, title)
				}
			}
			p.Clean()
		})
	}
}

func TestEveryPageIsAccessible(t *testing.T) {
	m := newWorld(t)
	for _, path := range []string{"/sign-in", "/sign-up", "/reset-password#token=x", "/accept-invitation#token=x"} {
		p := visitor(t, m.Magpie, path)
		p.Until(`settled()`)
		p.accessible(path)
	}
	p := signIn(t, m.Magpie, stacktest.Email, stacktest.Password, "/search")
	for _, page := range pages() {
		p.open(m.address(page.path))
		p.accessible(page.path)
	}
	p.Clean()
}
