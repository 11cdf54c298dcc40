package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/all"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/testkit/injection"
)

// settled waits until a run waits or has ended.
func (h *fixture) settled(t testing.TB, row *ent.AgentRun) *ent.AgentRun {
	t.Helper()
	eventually(t, "the run waits or has ended", func() bool {
		var err error
		if row, err = h.db.Ent.AgentRun.Get(h.ada, row.ID); err != nil {
			t.Fatal(err)
		}
		return row.Status == agentrun.StatusWaiting || row.FinishedAt != nil
	})
	return row
}

// A model that obeys an injected text brings every acting tool before a person, and no
// further: rejected, expired and changed calls are not made, approved ones are made once,
// as they were shown.
func TestAnInjectedCallIsMadeOnlyAsAPersonApprovesIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	registry, err := all.Registry()
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, p := range registry.Providers() {
		for _, tool := range p.Tools {
			if tool.Risk.Acts() {
				h.inject(t, p, tool, i)
				i++
			}
		}
	}
	if i < 40 {
		t.Errorf("%d acting tools", i)
	}
}

// inject lets a tool be ordered by one of the texts, and decides in one of four ways.
func (h *fixture) inject(t *testing.T, p integration.Provider, tool integration.Tool, i int) {
	t.Helper()
	var made []string
	acting := p.LoopTool(tool, func(context.Context) (integration.Account, error) { return integration.Account{}, nil })
	acting.Call = func(_ context.Context, arguments json.RawMessage) (loop.Result, error) {
		made = append(made, string(arguments))
		return loop.Result{Text: "done"}, nil
	}
	arguments := injection.Arguments(t, tool.Schema)
	kind := []string{"document", "tool_result"}[i%2]
	text := injection.Texts(t, kind, acting.Name, arguments)[i%10]
	read := loop.Tool{Name: "read", Description: "reads", Risk: policy.Read, Schema: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, json.RawMessage) (loop.Result, error) { return loop.Result{Text: text.Text}, nil }}
	h.tools.tools = []loop.Tool{acting, read}
	models, err := llm.NewModels(&injection.Obedient{Reads: true})
	if err != nil {
		t.Fatal(err)
	}
	runs := h.newRuns(t, func(o *run.Options) { o.Models = models })
	row, err := runs.Start(h.ada, run.Input{Agent: h.agent.ID, Message: "Sum up what you find.", Background: true})
	if err != nil {
		t.Fatal(err)
	}
	continueQueued(t, runs)
	name, way := p.FullName(tool), []string{"reject", "expire", "change", "approve"}[i%4]
	if row = h.settled(t, row); row.Status != agentrun.StatusWaiting || len(made) != 0 {
		t.Fatalf("%s: the run is %s after %v", name, row.Status, made)
	}
	a := h.asked(t, row)
	if a.Tool != name || a.Arguments != arguments || a.ArgumentsHash != approval.Hash(json.RawMessage(arguments)) || a.Kind != entapproval.KindConsent ||
		!strings.EqualFold(string(a.Risk), string(tool.Risk)) || strings.Contains(arguments, injection.Evil) != strings.Contains(a.Title+a.Preview, injection.Evil) {
		t.Errorf("%s by %q: asked %+v", name, text.Name, a)
	}
	decision := approval.Decision{Action: approval.Approve, ExpectedHash: a.ArgumentsHash}
	if tool.Risk == policy.Delete {
		decision.Confirm = name
	}
	switch way {
	case "reject":
		h.decide(t, a, approval.Decision{Action: approval.Reject})
	case "expire":
		h.change(t, "update approvals set expires_at = now() - interval '1 minute' where id = $1", a)
		if _, err := h.approvals.Expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	case "change":
		h.decide(t, a, decision)
		h.change(t, "update approvals set arguments = replace(arguments, 'eve@', 'mallory@') where id = $1", a)
	default:
		h.decide(t, a, decision)
	}
	// The model tries again, and is rejected.
	for range 4 {
		continueQueued(t, runs)
		if row = h.settled(t, row); row.Status != agentrun.StatusWaiting {
			break
		}
		h.decide(t, h.asked(t, row), approval.Decision{Action: approval.Reject})
	}
	want := []string{}
	if way == "approve" {
		want = append(want, arguments)
	}
	if row.Status != agentrun.StatusCompleted || !slices.Equal(made, want) {
		t.Errorf("%s, %s: the run is %s; called %v", name, way, row.Status, made)
	}
}

// change changes the row of an approval past the store.
func (h *fixture) change(t *testing.T, statement string, a *ent.Approval) {
	t.Helper()
	tag, err := h.db.Pool.Exec(t.Context(), statement, a.ID)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatal(fmt.Sprint(tag), err)
	}
}
