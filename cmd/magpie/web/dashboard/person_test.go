package dashboard_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/testkit/browser"
)

// axe checks accessibility (github.com/dequelabs/axe-core 4.14.1, MPL-2.0).
//
//go:embed testdata/axe.min.js
var axe string

// prelude has functions that find what a person sees: button, link, tab or option by its
// name, a field by its label. An open menu, dialog or drawer hides the page below it; a menu
// appears a moment after its button was pressed, and fades when it closes.
const prelude = `
const visible = (e) => e.getClientRects().length > 0 && !e.closest('[aria-hidden=true]');
const named = (e) => (e.getAttribute('aria-label') || e.innerText || e.value || '').trim();
const all = (s) => [...document.querySelectorAll(s)].filter(visible);
const hit = (name) => {
  const found = all('button, a[href], [role=button], [role=menuitem], [role=option], [role=tab], [role=radio], input[type=submit], label, summary, tr.row').filter((e) => !e.disabled);
  const opener = all('[aria-haspopup=menu][aria-expanded=true]').at(-1);
  const menu = opener && all('[role=menu]').find((e) => e.id === opener.getAttribute('aria-controls'));
  if (opener && !menu) return;
  if (menu) return found.find((e) => menu.contains(e) && named(e) === name) ?? found.find((e) => menu.contains(e) && named(e).startsWith(name));
  const top = all('[role=dialog]').at(-1);
  const here = top ? found.filter((e) => top.contains(e) || e.closest('[role=listbox], [role=menu]')) : found;
  return here.find((e) => named(e) === name) ?? here.find((e) => named(e).startsWith(name));
};
const says = (text) => document.body?.innerText.includes(text) ?? false; // a page that loads has no body
const field = (name) => {
  const label = all('label').find((e) => e.innerText.replace(/\s*\*$/, '').trim() === name) ?? all('label').find((e) => e.innerText.trim().startsWith(name));
  const of = label && (label.control ?? document.getElementById(label.htmlFor));
  return of ?? all('input, textarea, select').find((e) => e.getAttribute('aria-label') === name || e.placeholder === name);
};
const title = () => document.querySelector('h1')?.innerText ?? '';
const settled = () => Boolean(title()) && !all('.mantine-Loader-root, .mantine-Skeleton-root').length;
`

// person is somebody at the dashboard.
type person struct {
	*browser.Tab
	t   *testing.T
	url string
	// framed reports whether the frame of the pages, menu and header, was checked by accessible.
	framed bool
}

// visitor opens a page without a session.
func visitor(t *testing.T, m *stacktest.Magpie, path string) *person {
	t.Helper()
	tab := browser.Visit(t, m.URL+path, browser.Options{Width: 1280, Height: 900, Prelude: prelude})
	return &person{Tab: tab, t: t, url: m.URL}
}

// signIn opens a page as somebody who has signed in. The form of the sign-in is tried by those who have only a keyboard,
// and by those who are turned away.
func signIn(t *testing.T, m *stacktest.Magpie, email, password, path string) *person {
	t.Helper()
	session := m.Session(email, password)
	tab := browser.Visit(t, m.URL+path, browser.Options{Width: 1280, Height: 900, Prelude: prelude, Before: []chromedp.Action{
		network.SetCookie(session.Name, session.Value).WithURL(m.URL + session.Path).WithPath(session.Path).WithHTTPOnly(true).WithSameSite(network.CookieSameSiteStrict),
		chromedp.ActionFunc(func(ctx context.Context) error {
			// What the browser remembers of a sign-in, once.
			const remember = `if (self === top && location.protocol !== "about:" && !sessionStorage.seen) { sessionStorage.seen = 1; localStorage.setItem("magpie-session", "1"); }`
			_, err := page.AddScriptToEvaluateOnNewDocument(remember).Do(ctx)
			return err
		}),
	}})
	p := &person{Tab: tab, t: t, url: m.URL}
	p.Until(`location.pathname !== "/sign-in" && settled()`)
	return p
}

// open opens a page by its address.
func (p *person) open(path string) {
	p.t.Helper()
	p.Open(p.url + path)
	p.Until(`settled()`)
}

// goTo opens another page as a link does, without loading the site anew.
func (p *person) goTo(path string) {
	p.t.Helper()
	if where, _, _ := strings.Cut(path, "?"); p.Text(`location.pathname`) == where {
		p.open(path)
		return
	}
	p.Eval(`(window.left = document.querySelector("h1"), history.pushState({}, "", `+quoted(path)+`))`, nil)
	p.Until(`document.querySelector("h1") !== left && settled()`)
}

// reloadUntil loads the page until an expression is true there, for what pages do not follow by themselves.
func (p *person) reloadUntil(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !p.holds(expression) && time.Now().Before(deadline); {
		p.Do(chromedp.Reload())
		p.Until(`settled()`)
	}
	p.Until(expression)
}

// hit presses what has the name, or a name that begins so.
func (p *person) hit(name string) {
	p.t.Helper()
	p.Click(`hit(` + quoted(name) + `)`)
}

// pick opens a menu and takes an item.
func (p *person) pick(menu, item string) {
	p.t.Helper()
	p.hit(menu)
	p.Until(`all("[role=menu]").length > 0`)
	p.hit(item)
}

// sees waits until the page shows the text.
func (p *person) sees(text string) {
	p.t.Helper()
	p.Until(`says(` + quoted(text) + `)`)
}

// choose opens the list of the field with the label and takes an option.
func (p *person) choose(label, option string) {
	p.t.Helper()
	p.Click(`field(` + quoted(label) + `)`)
	p.Until(`all("[role=option]").some((e) => e.innerText.startsWith(` + quoted(option) + `))`)
	p.Click(`all("[role=option]").find((e) => e.innerText.startsWith(` + quoted(option) + `))`)
}

// fill replaces the text of the field with the label.
func (p *person) fill(label, text string) {
	p.t.Helper()
	p.Until(`field(` + quoted(label) + `)`)
	p.Eval(`(() => { const e = field(`+quoted(label)+`); e.focus(); e.select?.(); })()`, nil)
	p.Insert(text)
	p.Until(`field(` + quoted(label) + `)?.value === ` + quoted(text))
}

// enter is fill in one step, for forms with many fields. It leaves the field, which ends
// an entry of a list.
func (p *person) enter(label, text string) {
	p.t.Helper()
	p.Until(`field(` + quoted(label) + `)`)
	p.Eval(`(() => {
		const e = field(`+quoted(label)+`);
		e.focus();
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), "value").set.call(e, `+quoted(text)+`);
		e.dispatchEvent(new Event("input", {bubbles: true}));
		e.blur();
	})()`, nil)
}

// drop drags files or folders of this machine to what an expression returns.
func (p *person) drop(target string, paths ...string) {
	p.t.Helper()
	var at struct{ X, Y float64 }
	p.Eval(`(() => { const e = `+target+`; e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, &at)
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1}
	for _, step := range []input.DispatchDragEventType{input.DragEnter, input.DragOver, input.Drop} {
		p.Do(input.DispatchDragEvent(step, at.X, at.Y, data))
	}
}

// tab opens a tab of the page, whose name may be that of another page, too.
func (p *person) tab(name string) {
	p.t.Helper()
	p.Click(`all("[role=tab]").find((e) => named(e) === ` + quoted(name) + `)`)
}

// row waits for a row of a table that has all texts.
func (p *person) row(texts ...string) {
	p.t.Helper()
	p.Until(rowWith(texts...))
}

// rowWith is an expression for the row of a table that has all texts.
func rowWith(texts ...string) string {
	wanted, err := json.Marshal(texts)
	if err != nil {
		panic(err)
	}
	return `all("tr").find((e) => ` + string(wanted) + `.every((text) => e.innerText.includes(text)))`
}

// confirm presses a button of the dialog that opens.
func (p *person) confirm(name string) {
	p.t.Helper()
	p.Until(`all("[role=dialog]").length > 0`)
	p.hit(name)
}

// link takes the link with a path from the dialog that shows it once.
func (p *person) link(path string) string {
	p.t.Helper()
	found := `all("[role=dialog] code, [role=dialog] input").map((e) => e.value ?? e.innerText).find((text) => text.includes(` + quoted(path) + `))`
	p.Until(found)
	link := p.Text(found)
	p.hit("I have copied it")
	return strings.TrimPrefix(link, p.url)
}

// asked answers the question that an open dialog asks by the button with the name.
func (p *person) asked(question, name string) {
	p.t.Helper()
	p.Until(`all("[role=dialog]").at(-1)?.innerText.includes(` + quoted(question) + `)`)
	p.confirm(name)
	p.Until(`!all("[role=dialog]").length`)
}

// pictures is the folder of screenshots: go test ./cmd/magpie/web/dashboard -pictures FOLDER.
var pictures = flag.String("pictures", "", "folder for screenshots of the dashboard")

// picture takes a screenshot of the window, light and dark, if a folder is set.
func (p *person) picture(name string) {
	p.t.Helper()
	if *pictures == "" {
		return
	}
	p.Do(chromedp.EmulateViewport(1280, 800))
	p.Eval(`all(".mantine-Notification-root").forEach((e) => { e.style.visibility = "hidden"; })`, nil)
	for _, look := range []string{"dark", "light"} {
		p.shown(look)
		p.Screenshot(filepath.Join(*pictures, "dashboard-"+name+"-"+look+".png"))
	}
	p.Do(chromedp.EmulateViewport(1280, 900))
}

// quoted returns a text as a literal in JavaScript.
func quoted(text string) string {
	literal, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(literal)
}

// scheme makes the window light or dark.
func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
}

// still holds when nothing changes its colour or place any more.
const still = `document.getAnimations().every((a) => a.playState !== "running" || a.effect.getComputedTiming().endTime === Infinity)`

// accessible checks the page by WCAG 2.2 AA, narrow and dark, and wide and light, and that
// nothing is wider than the window.
func (p *person) accessible(what string) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(360, 900))
	p.shown("dark")
	p.fits(what, 360)
	p.axe(what+", 360 px wide, dark", allRules)
	p.shown("light")
	p.Do(chromedp.EmulateViewport(1280, 900))
	p.fits(what, 1280)
	p.axe(what+", 1280 px wide, light", allRules)
}

// shown makes the window light or dark, and waits until it is.
func (p *person) shown(look string) {
	p.t.Helper()
	p.Do(scheme(look))
	p.Until(`document.documentElement.dataset.mantineColorScheme === ` + quoted(look) + ` && ` + still)
}

// fits checks that nothing is wider than the window.
func (p *person) fits(what string, width int) {
	p.t.Helper()
	p.Until(still)
	if wide := p.Text(`document.documentElement.scrollWidth <= innerWidth || document.documentElement.scrollWidth`); wide != "true" {
		p.t.Errorf("%s is %s pixels wide in a window of %d", what, wide, width)
	}
}

// The rules of axe.
const (
	allRules    = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]`
	colourRules = `{type: "rule", values: ["color-contrast", "link-in-text-block"]}`
)

// accessibleHere checks by WCAG 2.2 AA the dialog, menu or list that is open above the page,
// which another width of the window might close, or else the page: all rules in the light,
// those of colours in the dark.
func (p *person) accessibleHere(what string) {
	p.t.Helper()
	for _, look := range []struct{ name, rules string }{{"dark", colourRules}, {"light", allRules}} {
		p.shown(look.name)
		p.axe(what+", "+look.name, look.rules)
	}
}

// axe checks some rules as the window is.
func (p *person) axe(what, rules string) {
	p.t.Helper()
	if !p.holds(`typeof axe !== "undefined"`) {
		p.Do(chromedp.Evaluate(axe, nil))
	}
	page := "document"
	if p.framed {
		page = `{exclude: [["nav"], ["header"]]}`
	}
	var found []string
	p.Eval(`axe.run(all("[role=dialog], [role=menu], [role=listbox]").at(-1) ?? `+page+`, {runOnly: `+rules+`, resultTypes: ["violations"]})
		.then(({violations}) => violations.flatMap((v) => v.nodes.map((n) => v.id + " " + n.target.join(" ") + ": " + n.html.slice(0, 200) + " " + n.failureSummary)))`, &found)
	if len(found) > 0 {
		p.t.Errorf("%s:\n%s", what, strings.Join(found, "\n"))
	}
}
