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

// patience bounds everything that is waited for.
const patience = time.Minute

// shared is the one browser of the package's tests.
var shared browser

type browser struct {
	once   sync.Once
	ctx    context.Context
	cancel []context.CancelFunc
	err    error
}

// programs are the names and places of Chromium and its relatives.
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
		// The pages' names, which exist nowhere, are this machine.
		chromedp.Flag("host-resolver-rules", "MAP *.example.com 127.0.0.1"),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	program, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(program,
		chromedp.WithErrorf(func(string, ...any) {})) // events that are newer than the library
	b.ctx, b.cancel = ctx, []context.CancelFunc{cancel, end}
	if err := chromedp.Run(ctx); err != nil {
		b.err = fmt.Errorf("start %s: %w", path, err)
	}
}

func (b *browser) stop() {
	if b.ctx != nil && b.err == nil {
		_ = chromedp.Cancel(b.ctx) // waits until the process has ended
	}
	for _, cancel := range b.cancel {
		cancel()
	}
}

// tab is a page in the browser, with cookies and a cache of its own.
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
	// The first run belongs to the tab's life, so it gets no deadline of its own.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1200, 800), emulation.SetFocusEmulationEnabled(true))
	b.do(before...)
	b.do(chromedp.Navigate(address))
	return b
}

// window opens a window with cookies and a cache of its own.
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

// listen collects what a page should never say: exceptions, and violations of its policy.
func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Error())
	case *cdplog.EventEntryAdded:
		if e.Entry.Source != cdplog.SourceNetwork { // an answer of 4xx is told there
			b.problems = append(b.problems, e.Entry.Text)
		}
	}
}

// clean fails when the page had exceptions or violated its policy.
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
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// prelude gives expressions the widget's inside: $ finds one element, $$ all, text the text of one.
const prelude = `const root = () => window.MagpieWidget?.element.shadowRoot;
const $ = (s) => root()?.querySelector(s), $$ = (s) => [...(root()?.querySelectorAll(s) ?? [])];
const text = (s) => $(s)?.textContent.replace(/\s+/g, " ").trim() ?? null;
const focused = () => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e; };
const active = () => { const id = $("[role=combobox]").getAttribute("aria-activedescendant"); return id ? root().getElementById(id) : null; };
`

// eval gives the value of an expression, awaited.
func (b *tab) eval(expression string, into any) {
	b.t.Helper()
	var raw []byte
	b.do(chromedp.Evaluate("(async () => { "+prelude+"return JSON.stringify(await ("+expression+") ?? null); })()", &raw,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
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

// text gives an expression's value as a string.
func (b *tab) text(expression string) (value string) {
	b.t.Helper()
	b.eval("String("+expression+")", &value)
	return value
}

// until waits for an expression to hold.
func (b *tab) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var holds bool
		b.eval("new Promise((done) => { let n = 0; const look = () => { const holds = Boolean("+expression+
			"); holds || ++n > 40 ? done(holds) : setTimeout(look, 25); }; look(); })", &holds)
		if holds {
			return
		}
		if time.Now().After(deadline) {
			b.clean()
			b.t.Fatalf("did not come true: %s\nthe widget says: %s", expression, b.text(`[...(root()?.querySelectorAll(".panel:not([hidden])") ?? [])].map((e) => e.innerText).join("|")`))
		}
	}
}

// is fails the test when an expression does not have the value.
func (b *tab) is(expression, want string) {
	b.t.Helper()
	if got := b.text(expression); got != want {
		b.t.Errorf("%s is %q, not %q", expression, got, want)
	}
}

// typed presses the keys of a text, one after the other.
func (b *tab) typed(text string) {
	b.t.Helper()
	for _, key := range text {
		b.press(string(key))
	}
}

// press presses a key with modifiers. As on a real keyboard, and unlike what
// chromedp.KeyEvent does, a key that the page takes for itself writes nothing.
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

// click presses the mouse on what an expression gives.
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

// accessible gives what assistive technology sees, by role.
func (b *tab) accessible() map[string][]axNode {
	b.t.Helper()
	var tree struct {
		Nodes []axNode `json:"nodes"`
	}
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		// The library's types refuse property names that are newer than itself.
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

// screenshot writes a picture of the page into a folder, for people; nowhere when it is empty.
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
