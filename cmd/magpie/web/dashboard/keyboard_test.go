package dashboard_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// focused is the name of what has the focus.
const focused = `(document.activeElement.getAttribute("aria-label") || document.activeElement.innerText || document.activeElement.placeholder || "").trim()`

// tabTo presses Tab until what has the name has the focus, as long as somebody would.
func (p *person) tabTo(name string) {
	p.t.Helper()
	p.Until(`document.body.innerText.includes(` + quoted(name) + `) || hit(` + quoted(name) + `) || field(` + quoted(name) + `)`)
	for range 60 {
		p.Press(kb.Tab)
		if p.Text(`(`+focused+`).startsWith(`+quoted(name)+`) || document.activeElement === field(`+quoted(name)+`)`) == "true" {
			return
		}
	}
	p.t.Fatalf("60 times Tab do not reach %q; the focus is on %q", name, p.Text(focused))
}

// keyboardFlow is a person without a mouse, who signs in, searches, looks into a document,
// restricts it and ends the restriction.
func keyboardFlow(t *testing.T, m *world) {
	p := visitor(t, m.Magpie, "/sign-in?next=/connectors")
	p.tabTo("Email address")
	p.Type(stacktest.Email)
	p.tabTo("Password")
	p.Type(stacktest.Password)
	p.Press("\r")
	p.Until(`location.pathname === "/connectors" && settled()`)

	// The first Tab offers to skip the menu.
	p.open("/connectors")
	p.Press(kb.Tab)
	p.Is(focused, "Skip to the content")
	p.Press("\r")
	p.Until(`document.activeElement?.id === "content"`)

	// Another page by the commands. The focus is on its title, so that screen readers say it.
	p.Press("k", input.ModifierCtrl)
	p.Until(`document.activeElement.matches("[role=dialog] input")`)
	p.Type("collec")
	p.Press("\r")
	p.Until(`location.pathname === "/collections" && settled()`)
	p.Until(`document.activeElement.matches("h1")`)

	// The search: to a result by the arrow keys, into its preview and back.
	p.Press("/")
	p.Until(`location.pathname === "/search" && document.activeElement.matches("[data-search-box]")`)
	p.Type("spare lamps")
	p.Press("\r")
	p.sees("Spare lamps are in room 12")
	p.Press(kb.ArrowDown)
	p.Until(`document.activeElement.closest("article, li, [role=article]")`)
	p.Press("\r")
	p.Until(`document.activeElement.closest("[role=dialog]")`)
	p.Press(kb.Escape)
	p.Until(`!all("[role=dialog]").length && document.activeElement.closest("article, li, [role=article]")`)

	// A menu by its arrow keys.
	p.open("/documents/" + m.document)
	p.tabTo("Account: Owner")
	p.Press("\r")
	p.Until(`document.activeElement.matches("[role=menuitem]")`)
	p.Press(kb.ArrowDown)
	p.Press(kb.Escape)
	p.Until(`!all("[role=menu]").length && (` + focused + `).startsWith("Account: Owner")`)

	// Tabs by the arrow keys, a dialog that keeps the focus, and gives it back.
	p.tabTo("Text")
	for range 6 {
		if p.Text(focused) == "Readers" {
			break
		}
		p.Press(kb.ArrowRight)
	}
	p.Is(focused, "Readers")
	p.tabTo("Restrict")
	p.Press("\r")
	p.Until(`document.activeElement.closest("[role=dialog]")`)
	p.tabTo("People")
	p.Type(stacktest.Email)
	p.Press("\r")
	p.tabTo("Restrict")
	p.Press("\r")
	p.sees("Only these may read it")
	p.tabTo("End the restriction")
	p.Press("\r")
	p.tabTo("End the restriction")
	p.Press("\r")
	p.sees("Nobody restricted it by hand.")
	p.Clean()
}
