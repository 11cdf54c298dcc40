// Package browser drives pages in a headless Chromium that all tests of a package share.
//
// It imports nothing of Magpie.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
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

// programs returns names and paths of Chromium and related browsers. The headless shell,
// which has no windows to draw, is quicker.
func programs() []string {
	return []string{
		"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome",
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
		// Most of what would move costs time only.
		chromedp.Flag("force-prefers-reduced-motion", true),
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

func (b *browser) close() {
	if b.ctx != nil && b.err == nil {
		_ = chromedp.Cancel(b.ctx) // waits for the exit of the process
	}
	for _, cancel := range b.cancel {
		cancel()
	}
}

// Options are the settings of a tab.
type Options struct {
	// Width and Height are the size of the window in pixels; 1200 by 800 when zero.
	Width, Height int64
	// Before runs before the address is opened.
	Before []chromedp.Action
	// Prelude is JavaScript that is run before each expression, such as functions.
	Prelude string
	// Describe is an expression whose value is part of the error of Until.
	Describe string
}

// Tab is a page in a separate browser context. Its methods fail the test on errors.
type Tab struct {
	t       *testing.T
	ctx     context.Context
	options Options

	mu       sync.Mutex
	problems []string
}

// Visit opens a page in a window with cookies and a cache of its own, and waits until its
// scripts have run. The window closes with the test.
func Visit(t *testing.T, address string, options Options) *Tab {
	t.Helper()
	shared.once.Do(shared.start)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, cancel := chromedp.NewContext(shared.ctx, chromedp.WithTargetID(shared.window(t)))
	t.Cleanup(cancel)
	if options.Width == 0 {
		options.Width, options.Height = 1200, 800
	}
	b := &Tab{t: t, ctx: ctx, options: options}
	chromedp.ListenTarget(ctx, b.listen)
	// The first run must not have a deadline, since that would limit the tab.
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.EmulateViewport(options.Width, options.Height), emulation.SetFocusEmulationEnabled(true))
	b.Do(options.Before...)
	b.Do(chromedp.Navigate(address))
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

// listen records exceptions, errors that the page logs, and violations of the content
// security policy.
func (b *Tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError {
			var parts []string
			for _, argument := range e.Args {
				parts = append(parts, string(argument.Value)+argument.Description)
			}
			b.problems = append(b.problems, strings.Join(parts, " "))
		}
	case *cdplog.EventEntryAdded:
		if e.Entry.Source != cdplog.SourceNetwork && e.Entry.Level != cdplog.LevelVerbose { // responses 4xx, and advice
			b.problems = append(b.problems, e.Entry.Text)
		}
	}
}

// Clean fails the test when listen has recorded a problem.
func (b *Tab) Clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the page's console: %s", strings.Join(b.problems, "; "))
	}
}

// Open opens another address. It returns when the page has begun, without waiting for
// what the page loads.
func (b *Tab) Open(address string) {
	b.t.Helper()
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, _, reason, _, err := page.Navigate(address).Do(ctx)
		if err == nil && reason != "" {
			err = fmt.Errorf("open %s: %s", address, reason)
		}
		return err
	}))
}

// Do runs actions within a minute.
func (b *Tab) Do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := b.run(actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *Tab) run(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// Eval evaluates and awaits an expression.
func (b *Tab) Eval(expression string, into any) {
	b.t.Helper()
	var raw []byte
	b.Do(b.evaluation(expression, &raw))
	b.decode(expression, raw, into)
}

// evaluation evaluates and awaits an expression, and stores its JSON in raw.
func (b *Tab) evaluation(expression string, raw *[]byte) chromedp.Action {
	return chromedp.Evaluate("(async () => { "+b.options.Prelude+"\nreturn JSON.stringify(await ("+expression+") ?? null); })()", raw,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
}

func (b *Tab) decode(expression string, raw []byte, into any) {
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

// Text returns the value of an expression as a string.
func (b *Tab) Text(expression string) (value string) {
	b.t.Helper()
	b.Eval("String("+expression+")", &value)
	return value
}

// Until waits until an expression is true.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var holds bool
		var raw []byte
		look := "new Promise((done) => { let n = 0; const look = () => { const holds = Boolean(" + expression +
			"); holds || ++n > 40 ? done(holds) : setTimeout(look, 25); }; look(); })"
		switch err := b.run(b.evaluation(look, &raw)); {
		case err == nil:
			b.decode(look, raw, &holds)
		case !strings.Contains(err.Error(), "navigated"): // a new page ends the old one's promise
			b.t.Fatal(err)
		}
		if holds {
			return
		}
		if time.Now().After(deadline) {
			b.Clean()
			describe := b.options.Describe
			if describe == "" {
				describe = "document.body.innerText"
			}
			b.t.Fatalf("timed out waiting for %s\nthe page says: %s", expression, b.Text(describe))
		}
	}
}

// Is checks the value of an expression.
func (b *Tab) Is(expression, want string) {
	b.t.Helper()
	if got := b.Text(expression); got != want {
		b.t.Errorf("%s = %q, want %q", expression, got, want)
	}
}

// Type types a text.
func (b *Tab) Type(text string) {
	b.t.Helper()
	for _, key := range text {
		b.Press(string(key))
	}
}

// Insert replaces the selected text of the focused field, as pasting does.
func (b *Tab) Insert(text string) {
	b.t.Helper()
	b.Do(input.InsertText(text))
}

// Press presses a key with modifiers. Unlike chromedp.KeyEvent, a key whose default
// action the page prevents enters no text.
func (b *Tab) Press(key string, modifiers ...input.Modifier) {
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
		b.Do(&down, &up)
	}
}

// reach is a function of JavaScript that waits until an element is there, has kept its place
// for two frames, and would receive a click, or its label would. It returns the element's
// middle, or null after about five seconds.
const reach = `(async (find) => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const moves = (e) => document.getAnimations().some(({playState, effect}) =>
    playState === "running" && effect?.target?.contains(e) && effect.getComputedTiming().endTime !== Infinity);
  for (let n = 0; n < 200; n++) {
    const e = find();
    e?.scrollIntoView({block: "nearest"});
    const before = e?.getBoundingClientRect();
    await frame();
    await frame();
    const r = e?.getBoundingClientRect();
    if (e?.isConnected && !moves(e) && r.x === before.x && r.y === before.y && r.width === before.width && r.height === before.height) {
      const at = {x: r.x + r.width / 2, y: r.y + r.height / 2};
      const top = e.getRootNode().elementFromPoint(at.x, at.y); // also in a shadow tree
      if (top && (e.contains(top) || top.contains(e) || [...(e.labels ?? [])].some((label) => label.contains(top)))) return at;
    }
    await new Promise((done) => setTimeout(done, 25));
  }
  return null;
})`

// Click clicks the element that an expression returns, once it stands still and nothing
// covers it.
func (b *Tab) Click(expression string) {
	b.t.Helper()
	b.Until(expression)
	var at *struct{ X, Y float64 }
	b.Eval(reach+"(() => "+expression+")", &at)
	if at == nil {
		b.t.Fatalf("%s moves, or something covers it\nthe page says: %s", expression, b.Text("document.body.innerText"))
	}
	b.Do(chromedp.MouseClickXY(at.X, at.Y))
}

// Node is a node of the accessibility tree.
type Node struct {
	Ignored    bool  `json:"ignored"`
	Role       Value `json:"role"`
	Name       Value `json:"name"`
	Properties []struct {
		Name  string `json:"name"`
		Value Value  `json:"value"`
	} `json:"properties"`
}

// Value is the value of a role, a name or a property.
type Value struct {
	Value any `json:"value"`
}

// Property returns a property such as hasPopup; nil without it.
func (n Node) Property(name string) any {
	for _, p := range n.Properties {
		if p.Name == name {
			return p.Value.Value
		}
	}
	return nil
}

// Accessible returns the accessibility tree by role.
func (b *Tab) Accessible() map[string][]Node {
	b.t.Helper()
	var tree struct {
		Nodes []Node `json:"nodes"`
	}
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		// The types of the library reject property names that it does not know.
		return cdp.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	out := map[string][]Node{}
	for _, n := range tree.Nodes {
		if role, ok := n.Role.Value.(string); ok && !n.Ignored {
			out[role] = append(out[role], n)
		}
	}
	return out
}

// Screenshot writes a picture of the window to a file.
func (b *Tab) Screenshot(path string) {
	b.t.Helper()
	var picture []byte
	b.Do(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(path, picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// Stop ends the browser after the last test of the package.
func Stop() { shared.close() }
