package automation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/all"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	entautomation "github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/internal/testkit/injection"
)

// memory is a loop.Keeper without a database.
type memory struct {
	mu      sync.Mutex
	effects map[string]loop.Effect
}

func (*memory) Save(context.Context, loop.State) error { return nil }

func (m *memory) Begin(_ context.Context, call loop.Effect) (loop.EffectStatus, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.effects == nil {
		m.effects = map[string]loop.Effect{}
	}
	m.effects[call.CallID] = call
	return loop.EffectStatus{}, nil
}

func (*memory) End(context.Context, loop.Effect) error { return nil }

// target is an acting tool of a provider that records its calls, with arguments for them.
type target struct {
	integration.Provider
	tool      integration.Tool
	arguments string

	mu   sync.Mutex
	made []string
}

// targets returns all acting tools.
func targets(t *testing.T) []*target {
	t.Helper()
	registry := must[*integration.Registry](t)(all.Registry())
	var out []*target
	for _, p := range registry.Providers() {
		for _, tool := range p.Tools {
			if tool.Risk.Acts() {
				out = append(out, &target{Provider: p, tool: tool, arguments: injection.Arguments(t, tool.Schema)})
			}
		}
	}
	if len(out) < 40 {
		t.Fatalf("%d acting tools", len(out))
	}
	return out
}

func (g *target) loopTool() loop.Tool {
	out := g.LoopTool(g.tool, func(context.Context) (integration.Account, error) { return integration.Account{}, nil })
	out.Policy = func(json.RawMessage) policy.Policy { return g.tool.Risk.Default() }
	out.Call = func(_ context.Context, arguments json.RawMessage) (loop.Result, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.made = append(g.made, string(arguments))
		return loop.Result{Text: "done"}, nil
	}
	return out
}

func (g *target) calls() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.made)
}

// task returns a run that reads a text.
func (g *target) task(kind string, text injection.Text, tools ...loop.Tool) loop.Task {
	read := loop.Tool{Name: "read", Description: "reads", Risk: policy.Read, Schema: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, json.RawMessage) (loop.Result, error) { return loop.Result{Text: text.Text}, nil }}
	task := loop.Task{
		ID: uuid.NewString(), System: "You help.", Message: "Sum up what you find.", Model: &injection.Obedient{Reads: kind != "mail"}, Tools: append(tools, read), Keeper: &memory{},
	}
	if kind == "mail" {
		task.Message = automation.Render(entautomation.KindEmail, "Answer {{event.text}}", map[string]any{"text": text.Text}, "c0ffee")
	}
	return task
}

// leaves returns the texts and numbers in arguments.
func leaves(value any) []string {
	switch value := value.(type) {
	case map[string]any:
		var out []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out = append(out, leaves(value[name])...)
		}
		return out
	case []any:
		var out []string
		for _, one := range value {
			out = append(out, leaves(one)...)
		}
		return out
	case string:
		return []string{value}
	case float64:
		return []string{strconv.FormatFloat(value, 'f', -1, 64)}
	default:
		return nil
	}
}

// A model that obeys an injected text gets as far as a person, who sees the very arguments.
// Without consent nothing is called, and what is called after consent is what was shown.
func TestAnInjectedCallWaitsForAPersonWhoSeesIt(t *testing.T) {
	t.Parallel()
	l := must[*loop.Loop](t)(loop.New(loop.Options{Limits: loop.Standard()}))
	t.Cleanup(l.Close)
	ignore := func(loop.Event) error { return nil }
	for _, g := range targets(t) {
		name := g.FullName(g.tool)
		for _, kind := range injection.Kinds() {
			for _, text := range injection.Texts(t, kind, g.WireName(g.tool), g.arguments) {
				task := g.task(kind, text, g.loopTool())
				waiting, err := l.Run(t.Context(), task, ignore)
				if err != nil || len(waiting.Pending) != 1 || len(g.calls()) != 0 {
					t.Fatalf("%s by %s %q: waits for %d, %v; called %v", name, kind, text.Name, len(waiting.Pending), err, g.calls())
				}
				g.checkShown(t, waiting.Pending[0])
				for _, verdict := range []loop.Verdict{loop.Rejected, loop.Expired, ""} {
					next := task
					next.Model, next.State, next.Decisions = &injection.Obedient{}, waiting.State, map[string]loop.Decision{}
					if verdict != "" {
						next.Decisions[waiting.Pending[0].ID] = loop.Decision{Verdict: verdict}
					}
					if _, err := l.Run(t.Context(), next, ignore); err != nil || len(g.calls()) != 0 {
						t.Fatalf("%s by %s %q, %q: called %v, %v", name, kind, text.Name, verdict, g.calls(), err)
					}
				}
			}
		}
		g.checkConsent(t, l)
	}
}

// checkShown checks that a person sees the call as it would be made.
func (g *target) checkShown(t *testing.T, p loop.Pending) {
	t.Helper()
	if p.Tool != g.FullName(g.tool) || p.Risk != g.tool.Risk || string(p.Arguments) != g.arguments || p.Unknown {
		t.Errorf("%s: a person is asked about %+v", g.FullName(g.tool), p)
	}
	var arguments any
	if err := json.Unmarshal(p.Arguments, &arguments); err != nil {
		t.Fatal(err)
	}
	for _, leaf := range leaves(arguments) {
		if !strings.Contains(p.Preview.Title+"\n"+p.Preview.Text, leaf) {
			t.Errorf("%s: the preview hides %q: %s\n%s", g.FullName(g.tool), leaf, p.Preview.Title, p.Preview.Text)
		}
	}
}

// checkConsent checks that after consent the bytes of the approval are called, once,
// whatever became of the state, and none for a tool that has changed.
func (g *target) checkConsent(t *testing.T, l *loop.Loop) {
	t.Helper()
	text := injection.Texts(t, "document", g.WireName(g.tool), g.arguments)[0]
	ignore := func(loop.Event) error { return nil }
	for _, changed := range []bool{true, false} {
		tool := g.loopTool()
		task := g.task("document", text, tool)
		waiting, err := l.Run(t.Context(), task, ignore)
		if err != nil || len(waiting.Pending) != 1 {
			t.Fatalf("%s: %+v, %v", g.FullName(g.tool), waiting, err)
		}
		if changed {
			tool.Description += " It also deletes."
			task.Tools[0] = tool
		}
		task.Model = &injection.Obedient{}
		task.State = loop.State(strings.ReplaceAll(string(waiting.State), injection.Evil, "mallory@evil.example")) // somebody changes the state
		task.Decisions = map[string]loop.Decision{waiting.Pending[0].ID: {Verdict: loop.Approved, Arguments: waiting.Pending[0].Arguments}}
		if _, err := l.Run(t.Context(), task, ignore); err != nil {
			t.Fatalf("%s: %v", g.FullName(g.tool), err)
		}
		want := fmt.Sprint([]string{g.arguments})
		if changed {
			want = "[]"
		}
		if got := fmt.Sprint(g.calls()); got != want {
			t.Errorf("%s, changed is %v: called %s, want %s", g.FullName(g.tool), changed, got, want)
		}
	}
}
