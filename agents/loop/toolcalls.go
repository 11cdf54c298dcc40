package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	// maxRepeats is how many repeated calls end the tool phase of a run.
	maxRepeats = 3
	// maxAttempts is how often a failing call may be made.
	maxAttempts = 2
	maxToolName = 64
)

// pastCall is a call that this run has made.
type pastCall struct {
	id        string
	succeeded bool
	attempts  int
	pending   bool // its turn has not ended
}

// invocation is one tool call of a turn.
type invocation struct {
	id        string
	name      string // safe to show
	call      llm.ToolCall
	params    map[string]any
	arguments json.RawMessage
	tool      *Tool
	failure   string // why the call is not made, or why it failed
	key       string // equal for calls of the same tool with the same arguments
	result    Result
	err       error
}

// callTools makes the calls of a turn and adds the calls and their results to
// the window.
func (r *run) callTools(ctx context.Context, step int, t turn) error {
	if err := r.emitEvent(ctx, Iteration{Number: step, Status: Acting}); err != nil {
		return err
	}
	invocations := make([]*invocation, len(t.calls))
	message := llm.Message{Role: llm.RoleAssistant, Content: t.text}
	for i, call := range t.calls {
		invocations[i] = r.prepare(call)
		call.ID, call.Name = invocations[i].id, invocations[i].name
		message.Calls = append(message.Calls, call)
		if err := r.emitEvent(ctx, ToolCall{Tool: invocations[i].name, CallID: invocations[i].id, Params: invocations[i].params}); err != nil {
			return err
		}
	}
	if err := r.invokeAll(ctx, invocations); err != nil {
		return err
	}
	r.window.add(entry{message: message, step: step})
	for _, inv := range invocations {
		r.addResult(inv, step)
	}
	return nil
}

// prepare parses a call and decides whether the run makes it.
func (r *run) prepare(call llm.ToolCall) *invocation {
	inv := &invocation{id: r.uniqueCallID(call.ID), name: sanitizeToolName(call.Name), call: call}
	inv.arguments, inv.params, inv.failure = parseArguments(call)
	if inv.params == nil {
		inv.params = map[string]any{}
	}
	inv.tool = r.tools[call.Name]
	if inv.tool == nil {
		inv.failure = "There is no such tool. The tools are: " + strings.Join(r.toolNames(), ", ") + "."
	}
	if inv.failure != "" {
		return inv
	}
	canonical, _ := json.Marshal(inv.params) // params come from JSON
	inv.key = inv.name + " " + string(canonical)
	before := r.pastCalls[inv.key]
	switch {
	case before == nil:
	case before.pending:
		inv.failure = "This is the same call as " + before.id + " of this turn; see its result."
		return inv
	case before.succeeded && r.window.hasFullResult(before.id), !before.succeeded && before.attempts >= maxAttempts:
		r.repeats++
		inv.failure = "This very call was made before, as " + before.id + "; its result stands above. Use it, do something else, or answer."
		return inv
	}
	switch inv.tool.policyOf(inv.arguments) {
	case policy.Allow:
	case policy.Ask: // nobody can be asked yet
		inv.failure = "Not called: a person must approve this call, and nobody can be asked here."
		return inv
	default:
		inv.failure = "Not called: the rules of this workspace do not allow this call. Do something else, or say that it is not allowed."
		return inv
	}
	if r.outcome.ToolCalls >= r.limits.Calls {
		inv.failure = fmt.Sprintf("Not called: the limit of %d tool calls is reached.", r.limits.Calls)
		return inv
	}
	r.outcome.ToolCalls++
	attempts := 1
	if before != nil {
		attempts = before.attempts + 1
	}
	r.pastCalls[inv.key] = &pastCall{id: inv.id, attempts: attempts, pending: true}
	return inv
}

// invokeAll makes the calls, at most Limits.Parallel at once, and emits each
// result as it arrives.
func (r *run) invokeAll(ctx context.Context, invocations []*invocation) error {
	limit := min(r.limits.ToolTimeout, max(time.Second, r.limits.Timeout-r.limits.AnswerReserve-time.Since(r.start)))
	done := make(chan *invocation, len(invocations))
	queue := make(chan *invocation, len(invocations))
	for _, inv := range invocations {
		if inv.failure != "" {
			done <- inv
		} else {
			queue <- inv
		}
	}
	close(queue)
	for range min(r.limits.Parallel, len(queue)) {
		r.loop.calls.Go(func() {
			for inv := range queue {
				if ctx.Err() != nil {
					inv.err = context.Cause(ctx)
				} else {
					info := CallInfo{ID: inv.id, Key: r.task.ID + ":" + inv.id}
					inv.result, inv.err = r.loop.invoke(WithCallInfo(ctx, info), inv.tool, inv.arguments, limit)
				}
				done <- inv
			}
		})
	}
	for range invocations {
		inv := <-done // one for each invocation: invoke returns when ctx ends
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if inv.err != nil {
			inv.failure = r.loop.failureMessage(ctx, inv.name, inv.err)
		}
		message := inv.result.Summary
		if inv.failure != "" {
			message = inv.failure
		}
		if err := r.emitEvent(ctx, ToolResult{Tool: inv.name, CallID: inv.id, Success: inv.failure == "", Message: safetext.Truncate(message, 500)}); err != nil {
			return err
		}
	}
	return nil
}

// addResult adds the result of a call to the window.
func (r *run) addResult(inv *invocation, step int) {
	text := truncateResult(inv.result.Text, r.limits.ResultLength)
	if inv.failure != "" {
		text = inv.failure
	}
	if before := r.pastCalls[inv.key]; before != nil && before.id == inv.id {
		before.succeeded, before.pending = inv.failure == "", false
	}
	r.window.add(entry{
		message: llm.Message{Role: llm.RoleTool, CallID: inv.id, Content: markData(inv.name, text), Failed: inv.failure != ""},
		step:    step, tool: inv.name, text: text,
	})
}

func (r *run) toolNames() []string {
	names := make([]string, len(r.task.Tools))
	for i, tool := range r.task.Tools {
		names[i] = tool.Name
	}
	slices.Sort(names)
	return names
}

// uniqueCallID returns the model's id of a call if every provider accepts it
// and the run has not used it. Otherwise it makes a new one.
func (r *run) uniqueCallID(id string) string {
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(id) || r.callIDs[id] {
		for n := len(r.callIDs) + 1; ; n++ {
			if id = fmt.Sprintf("call_%d", n); !r.callIDs[id] {
				break
			}
		}
	}
	r.callIDs[id] = true
	return id
}

// sanitizeToolName returns a name that a model made up as providers accept it
// and people may see it.
func sanitizeToolName(name string) string {
	var b strings.Builder
	for _, c := range name {
		if b.Len() == maxToolName {
			break
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteRune(c)
		} else {
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()
}
