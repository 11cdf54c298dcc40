package widget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is the timeout of all waits.
const patience = time.Minute

// shared is the browser of all tests of the package.
var shared browser

type browser struct {
	once   sync.Once
	ctx    context.Context
	cancel []context.CancelFunc
	err    error
}

// programs returns names and paths of Chromium and related browsers.
func programs() []string {
	return []string{
		"chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	}
}

func (b *browser) start() {
	path := ""
	for _, name := range programs() {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		b.err = errors.New("no Chromium was found; install it with scripts/setup.sh --tests (Debian and Ubuntu) or brew install --cask google-chrome (macOS)")
		return
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		// Resolve the host names of the pages to this machine.
		chromedp.Flag("host-resolver-rules", "MAP *.example.com 127.0.0.1"),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	program, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(program,
		chromedp.WithErrorf(func(string, ...any) {})) // events that the library does not know
	b.ctx, b.cancel = ctx, []context.CancelFunc{cancel, end}
	if err := chromedp.Run(ctx); err != nil {
		b.err = fmt.Errorf("start %s: %w", path, err)
	}
}

func (b *browser) stop() {
	if b.ctx != nil && b.err == nil {
		_ = chromedp.Cancel(b.ctx) // waits for the exit of the process
	}
	for _, cancel := range b.cancel {
		cancel()
	}
}

// tab is a page in a separate browser context.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// visit opens a page and waits until its scripts have run.
func visit(t *testing.T, address string, before ...chromedp.Action) *tab {
	t.Helper()
	shared.once.Do(shared.start)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, cancel := chromedp.NewContext(shared.ctx, chromedp.WithTargetID(shared.window(t)))
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.listen)
	// The first run must not have a deadline, since that would limit the tab.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1200, 800), emulation.SetFocusEmulationEnabled(true))
	b.do(before...)
	b.do(chromedp.Navigate(address))
	return b
}

// window opens a window with separate cookies and cache.
func (b *browser) window(t *testing.T) target.ID {
	t.Helper()
	ctx := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	profile, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := target.DisposeBrowserContext(profile).Do(ctx); err != nil {
			t.Error(err)
		}
	})
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// listen records exceptions and violations of the content security policy.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		if e.Entry.Source != cdplog.SourceNetwork { // responses 4xx
			b.problems = append(b.problems, e.Entry.Text)
		}
	}
}

// clean fails the test when listen has recorded a problem.
func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the page's console: %s", strings.Join(b.problems, "; "))
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.run(actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) run(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// prelude defines functions for the shadow root of the widget: $ finds an element, $$
// all elements, text the text of an element.
const prelude = `const root = () => window.MagpieWidget?.element.shadowRoot;
const $ = (s) => root()?.querySelector(s), $$ = (s) => [...(root()?.querySelectorAll(s) ?? [])];
const text = (s) => $(s)?.textContent.replace(/\s+/g, " ").trim() ?? null;
const focused = () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; };
const active = () => { const id = $("[role=combobox]").getAttribute("aria-activedescendant"); return id ? root().getElementById(id) : null; };
`

// eval evaluates and awaits an expression.
func (b *tab) eval(expression string, into any) {
	b.t.Helper()
	var raw []byte
	b.do(evaluation(expression, &raw))
	b.decode(expression, raw, into)
}

// evaluation evaluates and awaits an expression, and stores its JSON in raw.
func evaluation(expression string, raw *[]byte) chromedp.Action {
	return chromedp.Evaluate("(async () => { "+prelude+"return JSON.stringify(await ("+expression+") ?? null); })()", raw,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
}

func (b *tab) decode(expression string, raw []byte, into any) {
	b.t.Helper()
	var answer string
	if err := json.Unmarshal(raw, &answer); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(answer), into); err != nil {
		b.t.Fatalf("%s: %v in %s", expression, err, answer)
	}
}

// text returns the value of an expression as a string.
func (b *tab) text(expression string) (value string) {
	b.t.Helper()
	b.eval("String("+expression+")", &value)
	return value
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var holds bool
		var raw []byte
		look := "new Promise((done) => { let n = 0; const look = () => { const holds = Boolean(" + expression +
			"); holds || ++n > 40 ? done(holds) : setTimeout(look, 25); }; look(); })"
		switch err := b.run(evaluation(look, &raw)); {
		case err == nil:
			b.decode(look, raw, &holds)
		case !strings.Contains(err.Error(), "navigated"): // a new page ends the old one's promise
			b.t.Fatal(err)
		}
		if holds {
			return
		}
		if time.Now().After(deadline) {
			b.clean()
			b.t.Fatalf("timed out waiting for %s\ntext of the widget: %s", expression, b.text(`[...(root()?.querySelectorAll(".panel:not([hidden])") ?? [])].map((e) => e.innerText).join("|")`))
		}
	}
}

// is checks the value of an expression.
func (b *tab) is(expression, want string) {
	b.t.Helper()
	if got := b.text(expression); got != want {
		b.t.Errorf("%s = %q, want %q", expression, got, want)
	}
}

// typed types a text.
func (b *tab) typed(text string) {
	b.t.Helper()
	for _, key := range text {
		b.press(string(key))
	}
}

// press presses a key with modifiers. Unlike chromedp.KeyEvent, a key whose default
// action the page prevents enters no text.
func (b *tab) press(key string, modifiers ...input.Modifier) {
	b.t.Helper()
	for _, r := range key {
		events := kb.Encode(r)
		down, up := *events[0], *events[len(events)-1]
		down.Type = input.KeyDown
		for _, e := range events {
			if e.Type == input.KeyChar && len(modifiers) == 0 {
				down.Text, down.UnmodifiedText = e.Text, e.UnmodifiedText
			}
		}
		for _, m := range modifiers {
			down.Modifiers |= m
			up.Modifiers |= m
		}
		b.do(&down, &up)
	}
}

// click clicks the element that an expression returns.
func (b *tab) click(expression string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.until(expression)
	b.eval(`(() => { const e = `+expression+`; e.scrollIntoView({block: "nearest"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, &at)
	b.do(chromedp.MouseClickXY(at.X, at.Y))
}

// axNode is a node of the accessibility tree.
type axNode struct {
	Ignored    bool    `json:"ignored"`
	Role       axValue `json:"role"`
	Name       axValue `json:"name"`
	Properties []struct {
		Name  string  `json:"name"`
		Value axValue `json:"value"`
	} `json:"properties"`
}

type axValue struct {
	Value any `json:"value"`
}

func (n axNode) property(name string) any {
	for _, p := range n.Properties {
		if p.Name == name {
			return p.Value.Value
		}
	}
	return nil
}

// accessible returns the accessibility tree by role.
func (b *tab) accessible() map[string][]axNode {
	b.t.Helper()
	var tree struct {
		Nodes []axNode `json:"nodes"`
	}
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		// The types of the library reject property names that it does not know.
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	out := map[string][]axNode{}
	for _, n := range tree.Nodes {
		if role, ok := n.Role.Value.(string); ok && !n.Ignored {
			out[role] = append(out[role], n)
		}
	}
	return out
}

// screenshot writes a screenshot of the page to the folder of -pictures, if it is set.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	var picture []byte
	b.do(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
