package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

// keeper keeps a run in memory.
type keeper struct {
	mu      sync.Mutex
	state   loop.State
	effects map[string]*loop.EffectStatus
	loseEnd bool // the process dies before the result is recorded
}

func (k *keeper) Save(_ context.Context, s loop.State) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = s
	return nil
}

func (k *keeper) Begin(_ context.Context, call loop.Effect) (loop.EffectStatus, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.effects[call.CallID]; known != nil && (known.Done || !call.Repeat) {
		return *known, nil
	}
	if k.effects == nil {
		k.effects = map[string]*loop.EffectStatus{}
	}
	k.effects[call.CallID] = &loop.EffectStatus{Begun: true}
	return loop.EffectStatus{}, nil
}

func (k *keeper) End(_ context.Context, call loop.Effect) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.loseEnd {
		k.effects[call.CallID] = &loop.EffectStatus{Done: true, Result: call.Result}
	}
	return nil
}

// outbox is a tool that sends and records what it sent.
type outbox struct {
	mu   sync.Mutex
	sent []string
}

func (o *outbox) tool() loop.Tool {
	t := echo("send")
	t.Risk = policy.Send
	t.Preview = func(_ context.Context, arguments json.RawMessage) (loop.Preview, error) {
		if strings.Contains(string(arguments), "nobody") {
			return loop.Preview{}, apierr.Invalid("text", "has no recipient")
		}
		return loop.Preview{Title: "Send", Text: string(arguments)}, nil
	}
	t.Call = func(ctx context.Context, arguments json.RawMessage) (loop.Result, error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.sent = append(o.sent, loop.CallInfoFrom(ctx).Key+" "+string(arguments))
		return loop.Result{Text: "sent", Summary: "sent"}, nil
	}
	return t
}

func (o *outbox) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.sent, "\n")
}

func sendReplies() []llmtest.Reply {
	return []llmtest.Reply{
		{Parts: []string{"I send it."}, Calls: []llm.ToolCall{call("a", "send", `{"text":"hello"}`), call("b", "echo", `{"text":"two"}`)}, Usage: &[2]int{100, 10}},
		textReply("Done."),
	}
}

// suspended runs a task until it waits and returns it ready to continue.
func suspended(t *testing.T, model llm.ChatModel, k *keeper, tools ...loop.Tool) (loop.Task, loop.Outcome, *recorder) {
	t.Helper()
	var l recorder
	task := loop.Task{ID: "run", Message: "Send it", Model: model, Tools: tools, Keeper: k}
	outcome, err := newLoop(t, nil).Run(t.Context(), task, l.emit)
	if err != nil || len(outcome.Pending) != 1 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	task.State = outcome.State
	return task, outcome, &l
}

func TestACallThatAsksWaitsAndIsThenMadeExactly(t *testing.T) {
	t.Parallel()
	forEachProtocol(t, sendReplies(), func(t *testing.T, model llm.ChatModel, server *llmtest.Server) {
		var out outbox
		task, outcome, l := suspended(t, model, &keeper{}, out.tool(), echo("echo"))
		p := outcome.Pending[0]
		if p.ID != "a" || p.CallID != "a" || p.Tool != "send" || p.Risk != policy.Send || string(p.Arguments) != `{"text":"hello"}` || p.Preview.Title != "Send" ||
			p.Reason != "I send it." || p.Unknown || p.Question != nil || p.ToolHash == "" {
			t.Errorf("%+v", p)
		}
		if out.text() != "" || !strings.HasSuffix(l.text(), "result b echo ok: said two") || outcome.Answer != "I send it." {
			t.Errorf("%s\n%s", out.text(), l.text())
		}
		task.Decisions = map[string]loop.Decision{"a": {Verdict: loop.Approved}}
		var after recorder
		outcome, err := newLoop(t, nil).Run(t.Context(), task, after.emit)
		if err != nil || outcome.Answer != "I send it.\n\nDone." || outcome.Iterations != 2 || outcome.ToolCalls != 2 || outcome.Usage.PromptTokens != 220 || len(outcome.Pending) != 0 {
			t.Errorf("%+v, %v", outcome, err)
		}
		if got := after.text(); got != "result a send ok: sent\n2 planning\n2 answering\ncontent \n\nDone." {
			t.Errorf("events:\n%s", got)
		}
		if out.text() != `run:a {"text":"hello"}` {
			t.Errorf("sent %s", out.text())
		}
		if last := contents(server.Requests()[1]); strings.Count(last, `<data from=\"`) != 2 || !strings.Contains(last, "Send it") {
			t.Errorf("request %s", last)
		}
	})
}

func TestAPersonsDecisionsReachTheModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision loop.Decision
		change   func(*loop.Tool)
		sent     string
		told     string
	}{
		"rejected": {decision: loop.Decision{Verdict: loop.Rejected, Comment: "Too\nearly"}, told: "Not called: a person rejected this. Too early"},
		"expired":  {decision: loop.Decision{Verdict: loop.Expired}, told: "nobody decided about this call in time"},
		"edited": {decision: loop.Decision{Verdict: loop.Approved, Arguments: json.RawMessage(`{"text":"bye"}`)}, sent: `run:a {"text":"bye"}`,
			told: "A person changed the arguments"},
		"the tool has changed": {decision: loop.Decision{Verdict: loop.Approved}, change: func(t *loop.Tool) { t.Description = "other" }, told: "the tool has changed"},
		"the tool is gone":     {decision: loop.Decision{Verdict: loop.Approved}, change: func(t *loop.Tool) { t.Name = "other" }, told: "the tool has changed"},
		"it is denied now": {decision: loop.Decision{Verdict: loop.Approved},
			change: func(t *loop.Tool) { t.Policy = func(json.RawMessage) policy.Policy { return policy.Deny } }, told: "do not allow this call any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, sendReplies()...)
			var out outbox
			send := out.tool()
			task, _, _ := suspended(t, newModel(t, "openai", server), &keeper{}, send, echo("echo"))
			if c.change != nil {
				c.change(&task.Tools[0])
			}
			task.Decisions = map[string]loop.Decision{"a": c.decision}
			outcome, err := newLoop(t, nil).Run(t.Context(), task, (&recorder{}).emit)
			if err != nil || len(outcome.Pending) != 0 || out.text() != c.sent {
				t.Errorf("%+v, %v, sent %s", outcome, err, out.text())
			}
			if last := contents(server.Requests()[1]); !strings.Contains(last, c.told) {
				t.Errorf("request %s", last)
			}
		})
	}
}

func TestAnUndecidedRunWaitsOn(t *testing.T) {
	t.Parallel()
	var out outbox
	task, first, _ := suspended(t, newModel(t, "openai", llmtest.NewServer(t, sendReplies()...)), &keeper{}, out.tool(), echo("echo"))
	var l recorder
	again, err := newLoop(t, nil).Run(t.Context(), task, l.emit)
	if err != nil || len(again.Pending) != 1 || again.Pending[0].ID != first.Pending[0].ID || len(l.events) != 0 || out.text() != "" {
		t.Errorf("%+v, %v, %s", again, err, l.text())
	}
}

func TestNobodyIsAskedAboutACallThatCannotBeMade(t *testing.T) {
	t.Parallel()
	var out outbox
	server := llmtest.NewServer(t, callReply(call("a", "send", `{"text":"nobody"}`)), textReply("No."))
	outcome, err := newLoop(t, nil).Run(t.Context(), loop.Task{Message: "x", Model: newModel(t, "openai", server), Tools: []loop.Tool{out.tool()}, Keeper: &keeper{}}, (&recorder{}).emit)
	if err != nil || len(outcome.Pending) != 0 || !strings.Contains(contents(server.Requests()[1]), "has no recipient") {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestAGrantedCallDoesNotAsk(t *testing.T) {
	t.Parallel()
	var out outbox
	task := loop.Task{ID: "run", Message: "x", Model: newModel(t, "openai", llmtest.NewServer(t, sendReplies()...)), Tools: []loop.Tool{out.tool(), echo("echo")}, Keeper: &keeper{},
		Granted: func(_ context.Context, tool string, arguments json.RawMessage) bool {
			return tool == "send" && string(arguments) == `{"text":"hello"}`
		}}
	if outcome, err := newLoop(t, nil).Run(t.Context(), task, (&recorder{}).emit); err != nil || len(outcome.Pending) != 0 || out.text() == "" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestAPersonsAnswerIsTheResult(t *testing.T) {
	t.Parallel()
	question := loop.Tool{Name: "ask", Description: "asks", Schema: json.RawMessage(`{"type":"object","properties":{}}`), Question: func(arguments json.RawMessage) (loop.Question, error) {
		var in struct {
			Question string
			Options  []string
		}
		err := json.Unmarshal(arguments, &in)
		return loop.Question{Text: in.Question, Options: in.Options}, err
	}}
	server := llmtest.NewServer(t, callReply(call("a", "ask", `{"question":"Which?","options":["red","blue"]}`)), textReply("Blue."))
	task, outcome, _ := suspended(t, newModel(t, "openai", server), &keeper{}, question)
	if p := outcome.Pending[0]; p.Question == nil || p.Question.Text != "Which?" || len(p.Question.Options) != 2 || p.Risk != policy.Question {
		t.Errorf("%+v", p)
	}
	task.Decisions = map[string]loop.Decision{"a": {Verdict: loop.Answered, Answer: "blue"}}
	var l recorder
	outcome, err := newLoop(t, nil).Run(t.Context(), task, l.emit)
	if err != nil || outcome.Answer != "Blue." || !strings.Contains(contents(server.Requests()[1]), "blue\\n</data>") || !strings.HasPrefix(l.text(), "result a ask ok: blue") {
		t.Errorf("%+v, %v\n%s", outcome, err, l.text())
	}
}

// errDied stands for the death of the process.
var errDied = errors.New("died")

func TestACrashRepeatsNoActingCall(t *testing.T) {
	t.Parallel()
	allowed := func(o *outbox) loop.Tool {
		tool := o.tool()
		tool.Policy = func(json.RawMessage) policy.Policy { return policy.Allow }
		return tool
	}
	continued := func(t *testing.T, task loop.Task, k *keeper) loop.Outcome {
		t.Helper()
		task.State = k.state
		outcome, err := newLoop(t, nil).Run(t.Context(), task, (&recorder{}).emit)
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	for name, c := range map[string]struct {
		loseEnd    bool
		idempotent bool
		dieAt      string // the prefix of the event at which the process dies
		unknown    bool
		sent       int // after all
	}{
		"before the call":                      {dieAt: "call", sent: 1},
		"after its result":                     {dieAt: "result a", sent: 1},
		"before its result":                    {dieAt: "result a", loseEnd: true, unknown: true, sent: 1},
		"before its result, with a key":        {dieAt: "result a", loseEnd: true, idempotent: true, sent: 2},
		"in the answer, after it was recorded": {dieAt: "content Done", sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replies := []llmtest.Reply{callReply(call("a", "send", `{"text":"hello"}`)), textReply("Done."), textReply("Done again.")}
			if c.dieAt == "call" { // before the first state is kept: the run starts anew
				replies = []llmtest.Reply{replies[0], replies[0], replies[1]}
			}
			var out outbox
			k := &keeper{loseEnd: c.loseEnd}
			tool := allowed(&out)
			tool.Idempotent = c.idempotent
			task := loop.Task{ID: "run", Message: "x", Model: newModel(t, "openai", llmtest.NewServer(t, replies...)), Tools: []loop.Tool{tool}, Keeper: k}
			die := func(e loop.Event) error {
				var l recorder
				_ = l.emit(e)
				if strings.HasPrefix(l.text(), c.dieAt) {
					return errDied
				}
				return nil
			}
			if _, err := newLoop(t, nil).Run(t.Context(), task, die); !errors.Is(err, errDied) {
				t.Fatal(err)
			}
			k.loseEnd = false
			outcome := continued(t, task, k)
			if c.unknown != (len(outcome.Pending) == 1) || c.unknown && !outcome.Pending[0].Unknown {
				t.Fatalf("%+v", outcome)
			}
			if c.unknown {
				k.state = outcome.State
				task.Decisions = map[string]loop.Decision{outcome.Pending[0].ID: {Verdict: loop.Rejected}}
				outcome = continued(t, task, k)
			}
			if n := len(out.sent); n != c.sent || !strings.HasPrefix(outcome.Answer, "Done") {
				t.Errorf("sent %d times, answer %q", n, outcome.Answer)
			}
		})
	}
}

func TestAgreementToRepeatACallCountsOnce(t *testing.T) {
	t.Parallel()
	var out outbox
	k := &keeper{loseEnd: true}
	task := loop.Task{ID: "run", Message: "x", Tools: []loop.Tool{out.tool()}, Keeper: k,
		Model: newModel(t, "openai", llmtest.NewServer(t, callReply(call("a", "send", `{"text":"hello"}`)), textReply("Done.")))}
	task.Decisions = map[string]loop.Decision{}
	die := func(e loop.Event) error {
		if _, ok := e.(loop.ToolResult); ok {
			return errDied
		}
		return nil
	}
	var asked []string
	for range 4 { // consent, and agreement to repeat, each cut off; one refusal
		outcome, err := newLoop(t, nil).Run(t.Context(), task, die)
		if errors.Is(err, errDied) {
			task.State = k.state
			outcome, err = newLoop(t, nil).Run(t.Context(), task, die)
		}
		if err != nil || len(outcome.Pending) != 1 {
			t.Fatalf("%+v, %v", outcome, err)
		}
		asked = append(asked, fmt.Sprintf("%s/%v/%d", outcome.Pending[0].ID, outcome.Pending[0].Unknown, len(out.sent)))
		task.State, k.state = outcome.State, outcome.State
		task.Decisions[outcome.Pending[0].ID] = loop.Decision{Verdict: loop.Approved}
	}
	if got := strings.Join(asked, " "); got != "a/false/0 a~2/true/1 a~3/true/2 a~4/true/3" {
		t.Errorf("asked %s", got)
	}
}

func TestACallWhoseOutcomeIsUnknownIsNotRepeated(t *testing.T) {
	t.Parallel()
	var out outbox
	tool := out.tool()
	made := tool.Call
	tool.Policy = func(json.RawMessage) policy.Policy { return policy.Allow }
	tool.Call = func(ctx context.Context, arguments json.RawMessage) (loop.Result, error) {
		_, _ = made(ctx, arguments)
		return loop.Result{}, fmt.Errorf("%w: %w", apierr.New(apierr.Unavailable, "No answer came."), loop.ErrUnknownOutcome)
	}
	server := llmtest.NewServer(t, callReply(call("a", "send", `{"text":"1"}`)), callReply(call("b", "send", `{"text":"1"}`)), textReply("I do not know."))
	task := loop.Task{ID: "run", Message: "x", Model: newModel(t, "openai", server), Tools: []loop.Tool{tool}, Keeper: &keeper{}}
	if _, err := newLoop(t, nil).Run(t.Context(), task, (&recorder{}).emit); err != nil || len(out.sent) != 1 {
		t.Errorf("%v, sent %s", err, out.text())
	}
	if told := contents(server.Requests()[1]); !strings.Contains(told, "No answer came. It is not known whether the call took effect") {
		t.Errorf("told %s", told)
	}
}

func TestTheLimitsCountOverAllPartsOfARun(t *testing.T) {
	t.Parallel()
	var out outbox
	server := llmtest.NewServer(t, callReply(call("a", "send", `{"text":"1"}`)), callReply(call("b", "send", `{"text":"2"}`)), textReply("Enough."))
	task := loop.Task{ID: "run", Message: "x", Model: newModel(t, "openai", server), Tools: []loop.Tool{out.tool()}, Keeper: &keeper{}, Decisions: map[string]loop.Decision{}}
	limited := newLoop(t, func(l *loop.Limits) { l.Steps = 3 })
	for range 2 {
		outcome, err := limited.Run(t.Context(), task, (&recorder{}).emit)
		if err != nil || len(outcome.Pending) != 1 {
			t.Fatalf("%+v, %v", outcome, err)
		}
		task.State = outcome.State
		task.Decisions[outcome.Pending[0].ID] = loop.Decision{Verdict: loop.Approved}
	}
	outcome, err := limited.Run(t.Context(), task, (&recorder{}).emit)
	if err != nil || outcome.Iterations != 3 || outcome.Answer != "Enough." || len(out.sent) != 2 || !strings.Contains(contents(server.Requests()[2]), "the limit of 3 steps") {
		t.Errorf("%+v, %v, %s", outcome, err, out.text())
	}
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"step":1,"entries":[{"message":{"Role":"user","Content":"x"}}],"turn":{"calls":[{"id":"a","name":"echo","call":{"Name":"echo"},"arguments":{},"decision":"a"}]}}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`[`))
	l, err := loop.New(loop.Options{Limits: loop.Standard()})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		task := loop.Task{Message: "x", Tools: []loop.Tool{echo("echo")}, State: state, Decisions: map[string]loop.Decision{"a": {Verdict: loop.Approved}}}
		if len(state) == 0 {
			return
		}
		if _, err := l.Run(ctx, task, (&recorder{}).emit); err == nil && !json.Valid(state) {
			t.Error("a broken state was accepted")
		}
	})
}
