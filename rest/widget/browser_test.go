package widget_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/internal/testkit/browser"
)

// patience is the timeout of all waits.
const patience = time.Minute

type tab = browser.Tab

// prelude defines functions for the shadow root of the widget: $ finds an element, $$
// all elements, text the text of an element.
const prelude = `const root = () => window.MagpieWidget?.element.shadowRoot;
const $ = (s) => root()?.querySelector(s), $$ = (s) => [...(root()?.querySelectorAll(s) ?? [])];
const text = (s) => $(s)?.textContent.replace(/\s+/g, " ").trim() ?? null;
const focused = () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; };
const active = () => { const id = $("[role=combobox]").getAttribute("aria-activedescendant"); return id ? root().getElementById(id) : null; };
`

// visit opens a page and waits until its scripts have run.
func visit(t *testing.T, address string, before ...chromedp.Action) *tab {
	t.Helper()
	return browser.Visit(t, address, browser.Options{
		Before: before, Prelude: prelude,
		Describe: `[...(root()?.querySelectorAll(".panel:not([hidden])") ?? [])].map((e) => e.innerText).join("|")`,
	})
}

// screenshot writes a screenshot of the page to the folder of -pictures, if it is set.
func screenshot(b *tab, name string) {
	if *pictures != "" {
		b.Screenshot(filepath.Join(*pictures, name+".png"))
	}
}
