package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/tracing"
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
	ID        string `json:"id"`
	Succeeded bool   `json:"succeeded,omitempty"`
	Attempts  int    `json:"attempts"`
	Pending   bool   `json:"pending,omitempty"` // its turn has not ended
}

// invocation is one tool call of a turn. State keeps its storedCall.
type invocation struct {
	storedCall
	params map[string]any
	tool   *Tool
	result Result
	err    error
	repeat bool // a person agreed to make the call again
	lost   bool // its error does not say whether it took effect
	needed *AuthRequiredError

	preview *Preview // of Arguments, if it was rendered
}

// openTurn is a turn whose calls are not all done.
type openTurn struct {
	text        string // of the model, before the calls
	invocations []*invocation
}

// callTools makes the calls of a turn.
func (r *run) callTools(ctx context.Context, step int, t turn) error {
	if err := r.emitEvent(ctx, Iteration{Number: step, Status: Acting}); err != nil {
		return err
	}
	r.turn = &openTurn{text: t.text, invocations: make([]*invocation, len(t.calls))}
	for i, call := range t.calls {
		inv := r.prepare(ctx, call)
		r.turn.invocations[i] = inv
		if err := r.emitEvent(ctx, ToolCall{Tool: inv.Name, CallID: inv.ID, Params: inv.params}); err != nil {
			return err
		}
	}
	if err := r.save(ctx); err != nil {
		return err
	}
	return r.finishTurn(ctx, step)
}

// finishTurn makes the calls of the turn that are not done and adds all calls and
// their results to the window. If a call needs a person first, the run waits:
// finishTurn sets Outcome.Pending.
func (r *run) finishTurn(ctx context.Context, step int) error {
	var ready []*invocation
	decided := false
	for _, inv := range r.turn.invocations {
		decided = r.decide(inv) || decided
		if !inv.Done && inv.Decision == "" {
			if inv.tool == nil && inv.Failure == "" && !inv.Answered {
				inv.Failure = "Not called: the tool is no longer there." // taken away while the run was cut off
			}
			ready = append(ready, inv)
		}
	}
	if decided { // so that an agreement to repeat a call counts once
		if err := r.save(ctx); err != nil {
			return err
		}
	}
	if err := r.invokeAll(ctx, ready); err != nil {
		return err
	}
	for _, inv := range r.turn.invocations {
		if inv.Decision != "" {
			r.addPending(ctx, inv)
		}
	}
	if len(r.outcome.Pending) > 0 {
		return nil
	}
	message := llm.Message{Role: llm.RoleAssistant, Content: r.turn.text}
	for _, inv := range r.turn.invocations {
		call := inv.Call
		call.ID, call.Name = inv.ID, inv.Name
		message.Calls = append(message.Calls, call)
	}
	r.window.add(entry{message: message, step: step})
	for _, inv := range r.turn.invocations {
		r.addResult(inv, step)
	}
	r.turn = nil
	return r.save(ctx)
}

// decide applies the decision about a call that waits for one, and reports whether
// there is one.
func (r *run) decide(inv *invocation) bool {
	d, decided := r.task.Decisions[inv.Decision]
	if inv.Done || inv.Decision == "" || !decided {
		return false
	}
	unknown := inv.Unknown
	inv.Decision, inv.Unknown = "", false
	comment := ""
	if text := strings.Join(strings.Fields(d.Comment), " "); text != "" {
		comment = " " + safetext.Truncate(text, 1000)
	}
	if d.Verdict == Approved && len(d.Arguments) > 0 && !bytes.Equal(d.Arguments, inv.Arguments) {
		inv.Note = "A person changed the arguments before the call was made: " + safetext.Truncate(string(d.Arguments), 2000)
		inv.Arguments, inv.preview = d.Arguments, nil
	}
	switch {
	case d.Verdict == Answered:
		inv.Answered, inv.result = true, Result{Text: d.Answer + comment, Summary: safetext.Truncate(d.Answer, 200)}
	case d.Verdict != Approved && unknown:
		inv.Failure = "It is not known whether this call took effect, and nobody agreed to repeat it." + comment
	case d.Verdict == Expired:
		inv.Failure = "Not called: nobody decided about this call in time."
	case d.Verdict != Approved:
		inv.Failure = "Not called: a person rejected this." + comment
	case inv.tool == nil || inv.tool.Hash() != inv.ToolHash:
		inv.Failure = "Not called: the tool has changed since a person agreed to this call."
	case inv.tool.policyOf(inv.Arguments) == policy.Deny:
		inv.Failure = "Not called: the rules of this workspace do not allow this call any more."
	default:
		inv.repeat = unknown
	}
	return true
}

// addPending adds a call to those on which the run waits.
func (r *run) addPending(ctx context.Context, inv *invocation) {
	p := Pending{ID: inv.Decision, CallID: inv.ID, Tool: inv.Name, Arguments: inv.Arguments, Reason: r.turn.text, Unknown: inv.Unknown, ToolHash: inv.ToolHash}
	if inv.tool != nil {
		p.Tool, p.Risk = inv.tool.policyName(), inv.tool.Risk
		if inv.tool.Question != nil {
			if q, err := inv.tool.Question(inv.Arguments); err == nil {
				p.Question, p.Risk = &q, policy.Question
			}
		}
		if err := inv.render(ctx); err == nil && inv.preview != nil {
			p.Preview = *inv.preview
		}
	}
	r.outcome.Pending = append(r.outcome.Pending, p)
}

// render renders the preview of a call, once, if its tool has one. What was checked is
// what is shown.
func (inv *invocation) render(ctx context.Context) error {
	if inv.preview != nil || inv.tool.Preview == nil {
		return nil
	}
	preview, err := inv.tool.Preview(ctx, inv.Arguments)
	if err == nil {
		inv.preview = &preview
	}
	return err
}

// ask makes a call wait for a person.
func (inv *invocation) ask() {
	inv.Asks++
	inv.Decision = inv.ID
	if inv.Asks > 1 {
		inv.Decision += fmt.Sprintf("~%d", inv.Asks)
	}
	if inv.tool != nil {
		inv.ToolHash = inv.tool.Hash()
	}
}

// prepare parses a call and decides whether the run makes it.
func (r *run) prepare(ctx context.Context, call llm.ToolCall) *invocation {
	inv := &invocation{storedCall: storedCall{ID: r.uniqueCallID(call.ID), Name: sanitizeToolName(call.Name), Call: call}}
	inv.Arguments, inv.params, inv.Failure = parseArguments(call)
	if inv.params == nil {
		inv.params = map[string]any{}
	}
	inv.tool = r.tools[call.Name]
	if inv.tool == nil {
		inv.Failure = "There is no such tool. The tools are: " + strings.Join(r.toolNames(), ", ") + "."
	}
	if inv.Failure != "" {
		return inv
	}
	canonical, _ := json.Marshal(inv.params) // params come from JSON
	inv.Key = inv.Name + " " + string(canonical)
	before := r.pastCalls[inv.Key]
	switch {
	case before == nil:
	case before.Pending:
		inv.Failure = "This is the same call as " + before.ID + " of this turn; see its result."
		return inv
	case before.Succeeded && r.window.hasFullResult(before.ID), !before.Succeeded && before.Attempts >= maxAttempts:
		r.repeats++
		inv.Failure = "This very call was made before, as " + before.ID + "; its result stands above. Use it, do something else, or answer."
		return inv
	}
	asks := false
	switch inv.tool.policyOf(inv.Arguments) {
	case policy.Allow:
	case policy.Ask:
		asks = r.task.Granted == nil || !r.task.Granted(ctx, inv.tool.policyName(), inv.Arguments)
	default:
		inv.Failure = "Not called: the rules of this workspace do not allow this call. Do something else, or say that it is not allowed."
		return inv
	}
	if inv.Failure = r.checkPending(ctx, inv, asks); inv.Failure != "" {
		return inv
	}
	if r.outcome.ToolCalls >= r.limits.Calls {
		inv.Failure = fmt.Sprintf("Not called: the limit of %d tool calls is reached.", r.limits.Calls)
		return inv
	}
	r.outcome.ToolCalls++
	attempts := 1
	if before != nil {
		attempts = before.Attempts + 1
	}
	r.pastCalls[inv.Key] = &pastCall{ID: inv.ID, Attempts: attempts, Pending: true}
	if asks || inv.tool.Question != nil {
		inv.ask()
	}
	return inv
}

// checkPending returns why nobody is asked about a call, or "".
func (r *run) checkPending(ctx context.Context, inv *invocation, asks bool) string {
	var err error
	switch {
	case inv.tool.Question != nil:
		_, err = inv.tool.Question(inv.Arguments)
	case !asks:
		return ""
	default:
		err = inv.render(ctx)
	}
	if err != nil {
		return r.loop.failureMessage(ctx, inv.Name, err)
	}
	if r.task.Keeper == nil {
		return "Not called: a person must approve this call, and nobody can be asked here."
	}
	return ""
}

// invokeAll makes the calls, at most Limits.Parallel at once, and emits each
// result as it arrives. It returns after acting calls that have begun, even if ctx
// has ended.
func (r *run) invokeAll(ctx context.Context, invocations []*invocation) error {
	left := max(time.Second, r.limits.Timeout-r.limits.AnswerReserve-r.elapsed())
	done := make(chan *invocation, len(invocations))
	queue := make(chan *invocation, len(invocations))
	for _, inv := range invocations {
		if inv.Failure != "" || inv.Answered {
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
					r.invoke(ctx, inv, min(left, r.limits.call(inv.tool)))
				}
				done <- inv
			}
		})
	}
	var failed error
	for range invocations {
		inv := <-done // one for each invocation: invoke returns when ctx ends
		if failed == nil && ctx.Err() != nil {
			failed = context.Cause(ctx)
		}
		if failed != nil || inv.Decision != "" {
			continue
		}
		if inv.err != nil {
			inv.Failure = r.loop.failureMessage(ctx, inv.Name, inv.err)
		}
		inv.Done = true
		if n := inv.needed; n != nil {
			if failed = r.emitEvent(ctx, AuthRequired{CallID: inv.ID, Integration: n.Integration, Name: n.Name, URL: n.URL}); failed != nil {
				continue
			}
		}
		message := inv.result.Summary
		if inv.Failure != "" {
			message = inv.Failure
		}
		failed = r.emitEvent(ctx, ToolResult{Tool: inv.Name, CallID: inv.ID, Success: inv.Failure == "", Message: safetext.Truncate(message, 500)})
	}
	return failed
}

// invoke makes one call. Acting calls do not end with ctx, since it would not be
// known whether they took effect.
func (r *run) invoke(ctx context.Context, inv *invocation, limit time.Duration) {
	ctx = WithCallInfo(ctx, CallInfo{ID: inv.ID, Key: r.task.ID + ":" + inv.ID, InRun: true})
	ctx, span := tracing.Start(ctx, "execute_tool "+inv.tool.Name, slog.String("gen_ai.operation.name", "execute_tool"), slog.String("gen_ai.tool.name", inv.tool.Name))
	defer func() { endCall(span, inv) }()
	if !inv.tool.Risk.Acts() || r.task.Keeper == nil {
		inv.result, inv.err = r.loop.invoke(ctx, inv.tool, inv.Arguments, limit)
		inv.needed, _ = errors.AsType[*AuthRequiredError](inv.err)
		inv.result.Text = truncateResult(inv.result.Text, r.limits.ResultLength)
		return
	}
	ctx = context.WithoutCancel(ctx)
	effect := Effect{CallID: inv.ID, Tool: inv.tool.Name, Repeat: inv.repeat || inv.tool.Idempotent}
	known, err := r.task.Keeper.Begin(ctx, effect)
	switch {
	case err != nil:
		inv.err = fmt.Errorf("record the call: %w", err)
		return
	case known.Done:
		inv.Failure, inv.result = known.Result.Failure, Result{Text: known.Result.Text, Summary: known.Result.Summary}
		return
	case known.Begun && !effect.Repeat:
		inv.Unknown = true
		inv.ask()
		return
	}
	inv.result, inv.err = r.loop.invoke(ctx, inv.tool, inv.Arguments, limit)
	inv.needed, _ = errors.AsType[*AuthRequiredError](inv.err)
	if inv.err != nil {
		inv.Failure = r.loop.failureMessage(ctx, inv.Name, inv.err)
	}
	if errors.Is(inv.err, errToolTimeout) || errors.Is(inv.err, ErrUnknownOutcome) {
		inv.lost = true
		inv.Failure += " It is not known whether the call took effect: do not repeat it before you have looked."
	}
	inv.err, inv.result.Text = nil, truncateResult(inv.result.Text, r.limits.ResultLength)
	effect.Result = EffectResult{Text: inv.result.Text, Summary: inv.result.Summary, Failure: inv.Failure}
	if err := r.task.Keeper.End(ctx, effect); err != nil {
		r.loop.opt.Log.ErrorContext(ctx, "result of an acting call not recorded", slog.String("tool", inv.Name), slog.Any("error", err))
	}
}

// endCall ends the span of a call. It has nothing of the arguments and the result.
func endCall(span *tracing.Span, inv *invocation) {
	if inv.err == nil && inv.Failure != "" {
		span.Failed("tool_failed")
	}
	span.End(inv.err)
}

// addResult adds the result of a call to the window.
func (r *run) addResult(inv *invocation, step int) {
	text := inv.result.Text
	if inv.Failure != "" {
		text = inv.Failure
	}
	if inv.Note != "" {
		text = inv.Note + "\n" + text
	}
	if before := r.pastCalls[inv.Key]; before != nil && before.ID == inv.ID {
		before.Succeeded, before.Pending = inv.Failure == "", false
		if inv.lost {
			before.Attempts = maxAttempts
		}
	}
	r.window.add(entry{
		message: llm.Message{Role: llm.RoleTool, CallID: inv.ID, Content: markData(inv.Name, text), Failed: inv.Failure != ""},
		step:    step, tool: inv.Name, text: text,
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
