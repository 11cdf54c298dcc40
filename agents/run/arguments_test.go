package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	entapproval "github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
)

// A person learns at once that other arguments do not fit the tool; the run goes on with
// those that do.
func TestOtherArgumentsAreCheckedWhenTheyAreEntered(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var runs *run.Runs
	h.approvals = approval.New(approval.Options{Ent: h.db.Ent, Validate: func(ctx context.Context, a *ent.Approval, given json.RawMessage) error {
		return runs.CheckArguments(ctx, a, given)
	}})
	p := &post{policy: policy.Ask}
	tool := p.tool()
	tool.PolicyName = "board.post"
	tool.Schema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":10},"to":{"type":"string"}},"required":["text"],"additionalProperties":false}`)
	tool.Policy = func(arguments json.RawMessage) policy.Policy {
		if strings.Contains(string(arguments), "rival") {
			return policy.Deny
		}
		return policy.Ask
	}
	tool.Preview = func(_ context.Context, arguments json.RawMessage) (loop.Preview, error) {
		if strings.Contains(string(arguments), "nobody") {
			return loop.Preview{}, apierr.Invalid("to", "is nobody")
		}
		return loop.Preview{Title: "Post it"}, nil
	}
	h.tools.tools = []loop.Tool{tool}
	runs = h.newRuns(t, nil, postReply("c1", "hello"), textReply("Done."))
	row, _ := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	h.status(t, row.ID, agentrun.StatusWaiting)
	a := h.asked(t, row)
	decide := func(given string) error {
		_, err := h.approvals.Decide(h.ada, a.ID, approval.Decision{Action: approval.Edit, Arguments: json.RawMessage(given)}, entapproval.DecidedViaDashboard)
		return err
	}
	for given, want := range map[string]string{
		`{"text":5}`:                     "invalid_request arguments.text: must be string",
		`{"text":"much longer"}`:         "invalid_request arguments.text: ",
		`{"to":"ada"}`:                   "invalid_request arguments",
		`{"text":"hi","cc":"eve"}`:       "invalid_request arguments",
		`{"text":"hi","to":"nobody"}`:    "invalid_request arguments.to: is nobody",
		`{"text":"hi","to":"the rival"}`: "invalid_request arguments: are not allowed",
		`[]`:                             "invalid_request arguments: must be a json object",
	} {
		e := apierr.From(decide(given))
		if got := fmt.Sprint(e.Code, " ", e.Message); !strings.Contains(strings.ToLower(got), want) || !strings.HasPrefix(e.Field, "arguments") {
			t.Errorf("%s: %s, field %q", given, got, e.Field)
		}
	}
	changed := tool
	changed.Description = "posts and deletes"
	for want, tools := range map[string][]loop.Tool{"has changed since": {changed}, "cannot be called now": nil} {
		h.tools.tools = tools
		if e := apierr.From(decide(`{"text":"hi"}`)); e.Code != apierr.Conflict || !strings.Contains(e.Message, want) {
			t.Errorf("%s: %v", want, e)
		}
	}
	h.tools.tools = []loop.Tool{tool}
	if bob := h.signInBob(t); true {
		_, err := h.approvals.Decide(bob, a.ID, approval.Decision{Action: approval.Edit, Arguments: json.RawMessage(`{"text":5}`)}, entapproval.DecidedViaDashboard)
		if apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("somebody else learns about the tool: %v", err)
		}
	}
	if h.asked(t, row).ID != a.ID || p.calls() != 0 {
		t.Error("a refused edit decides")
	}
	if err := decide(`{"text":"hi"}`); err != nil {
		t.Fatal(err)
	}
	continueQueued(t, runs)
	h.status(t, row.ID, agentrun.StatusCompleted)
	if got := fmt.Sprint(p.made); got != `[{"text":"hi"}]` {
		t.Errorf("made %s", got)
	}
}

// A person decides about the arguments that were checked.
func TestAPreviewIsRenderedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	p := &post{policy: policy.Ask}
	tool, rendered := p.tool(), 0
	tool.Preview = func(context.Context, json.RawMessage) (loop.Preview, error) {
		rendered++
		return loop.Preview{Title: fmt.Sprintf("Post %d", rendered)}, nil
	}
	h.tools.tools = []loop.Tool{tool}
	runs := h.newRuns(t, nil, postReply("c1", "hello"))
	row, _ := start(h.ada, t, runs, run.Input{Agent: h.agent.ID, Message: "Go"})
	h.status(t, row.ID, agentrun.StatusWaiting)
	if a := h.asked(t, row); a.Title != "Post 1" || rendered != 1 {
		t.Errorf("%q after %d previews", a.Title, rendered)
	}
}
