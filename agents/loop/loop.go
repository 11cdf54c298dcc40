package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/tracing"
)

// The causes of a failed run.
var (
	// ErrTimeout reports that a run took longer than Limits.Timeout.
	ErrTimeout       = errors.New("the run took too long")
	errEmptyAnswer   = errors.New("the model wrote nothing")
	errAnswerTooLong = errors.New("the model writes without end")
)

// ModelError wraps an error of the model or its provider.
type ModelError struct{ Err error }

// Error implements error.
func (e *ModelError) Error() string { return "ask the model: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Citer numbers documents and formats the citations of an answer.
type Citer interface {
	// Add returns the number of the document of hit, from 1. It is safe for
	// concurrent use.
	Add(hit search.Hit) int
	// Write takes the next piece of the answer, with numbers that Add returned
	// in brackets, and returns the text that can be shown already. Flush
	// returns the text that Write held back.
	Write(text string) string
	Flush() string
	// Cite cites a document by its number outside of Write and returns the mark
	// to show.
	Cite(number int) string
}

// Quote is a verbatim part of a passage that answers a question.
type Quote struct {
	Text     string
	HitIndex int // index of its passage in the given hits
	// Block reports that Text is a table, code or a list and needs lines of its
	// own.
	Block bool
}

// Task is the input of a run.
type Task struct {
	// ID is the id of the run, with which the keys of its calls begin.
	ID string
	// System is the agent's own system prompt.
	System string
	// History is the conversation so far, the oldest message first.
	History []llm.Message
	Message string
	// Memories are passed to the model as data.
	Memories []Memory
	// Tools are all tools that the run can call. Nothing in the conversation
	// changes them.
	Tools []Tool
	// Model answers. If it is nil, the planner without a model does.
	Model llm.ChatModel
	Citer Citer // nil discards citations
	// FindQuotes finds the parts of passages that answer a question. Only runs
	// without a model use it.
	FindQuotes func(question string, hits []search.Hit) []Quote

	// Keeper keeps the run. Without one, calls that need a person's consent fail.
	Keeper Keeper
	// State is the last one that Keeper was given, if the run was suspended or cut
	// off. History and Memories are part of it.
	State State
	// Decisions end the waits for calls, by Pending.ID.
	Decisions map[string]Decision
	// Granted reports that a person has agreed in advance to a call that asks. Nil
	// means never.
	Granted func(ctx context.Context, tool string, arguments json.RawMessage) bool
}

// Outcome is the result of a run, also of one that failed on the way.
type Outcome struct {
	Answer     string
	Usage      llm.Usage
	Iterations int
	ToolCalls  int
	// Pending are the calls on which the run waits. If there are any, the run is not
	// at its end: it continues from State when all of them are decided.
	Pending []Pending
	State   State
}

// Options configure a Loop.
type Options struct {
	Limits Limits
	// Tokens counts the tokens of prompts. Share the counter of the models; nil
	// makes one.
	Tokens *llm.TokenCounter
	// Log receives errors that readers do not see, with ids and without text;
	// nil discards them.
	Log *slog.Logger
}

// Loop runs agents. It is safe for concurrent use.
type Loop struct {
	opt   Options
	calls sync.WaitGroup
}

// New returns a loop. Its error names the limit that is missing.
func New(opt Options) (*Loop, error) {
	if err := opt.Limits.check(); err != nil {
		return nil, err
	}
	if opt.Tokens == nil {
		opt.Tokens = llm.NewTokenCounter()
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Loop{opt: opt}, nil
}

// Close waits for tool calls that outlived their run. No run may start
// afterwards.
func (l *Loop) Close() { l.calls.Wait() }

// run is one run. It belongs to one goroutine.
type run struct {
	loop    *Loop
	limits  Limits
	task    Task
	emit    func(Event) error
	start   time.Time
	before  time.Duration // running time before start
	tools   map[string]*Tool
	window  window
	outcome Outcome

	answer    strings.Builder
	callIDs   map[string]bool
	pastCalls map[string]*pastCall // by invocation.key
	turn      *openTurn            // the turn whose calls are not all done, or nil
	silent    bool                 // the model's last reply was empty
	repeats   int
	halvings  int // how often the prompt budget was halved because the provider found the prompt too long
}

// Run carries out a task and passes every step to emit, from one goroutine at a
// time. An error of emit ends the run and is returned. When ctx ends, the run
// ends with its cause, after acting calls that have begun. The outcome is valid
// even if the error is not nil. The limits count over all parts of a run that
// waits, without the waiting.
//
// An error that wraps ErrState means that Task.State cannot be used.
func (l *Loop) Run(ctx context.Context, task Task, emit func(Event) error) (Outcome, error) {
	r := &run{
		loop: l, limits: l.opt.Limits, task: task, emit: emit, start: time.Now(),
		tools: make(map[string]*Tool, len(task.Tools)), callIDs: map[string]bool{}, pastCalls: map[string]*pastCall{},
		window: window{count: l.opt.Tokens.Count},
	}
	if r.task.Citer == nil {
		r.task.Citer = discardCitations{}
	}
	for i := range task.Tools {
		r.tools[task.Tools[i].Name] = &r.task.Tools[i]
	}
	r.window.fixedTokens = r.window.count(r.systemPrompt()) + messageOverhead + l.opt.Tokens.CountTools(modelTools(task.Tools))
	if len(task.State) > 0 {
		if err := r.restore(task.State); err != nil {
			return Outcome{}, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, max(0, l.opt.Limits.Timeout-r.before), ErrTimeout)
	defer cancel()
	err := r.execute(ctx)
	r.outcome.Answer = r.answer.String()
	if err == nil && len(r.outcome.Pending) > 0 {
		r.outcome.State, err = r.state()
	}
	return r.outcome, err
}

// elapsed returns how long the run has been running.
func (r *run) elapsed() time.Duration { return r.before + time.Since(r.start) }

// save keeps the state of the run.
func (r *run) save(ctx context.Context) error {
	if r.task.Keeper == nil {
		return nil
	}
	state, err := r.state()
	if err != nil {
		return err
	}
	if err := r.task.Keeper.Save(ctx, state); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("keep the run: %w", err)
	}
	return nil
}

// execute carries out the task. It returns a panic as an error, because hostile
// text must not stop the process.
func (r *run) execute(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if r.task.Model == nil {
		return r.runWithoutModel(ctx)
	}
	return r.runWithModel(ctx)
}

// runWithModel alternates between the model and its tool calls until the model
// answers or the run waits.
func (r *run) runWithModel(ctx context.Context) error {
	if len(r.task.State) == 0 {
		for _, message := range r.task.History {
			r.window.add(entry{message: message})
		}
		r.window.add(entry{message: llm.Message{Role: llm.RoleUser, Content: r.userMessage()}, step: 1})
	}
	if r.turn != nil {
		if err := r.finishTurn(ctx, r.outcome.Iterations); err != nil || len(r.outcome.Pending) > 0 {
			return err
		}
	}
	for step := r.outcome.Iterations + 1; ; step++ {
		r.outcome.Iterations = step
		final := r.finalReason(step)
		if r.silent && final == "" {
			final = "you wrote nothing"
		}
		turn, err := r.nextTurn(ctx, step, final)
		if err != nil {
			return err
		}
		switch {
		case len(turn.calls) > 0 && final == "":
			r.silent = false
			if err := r.callTools(ctx, step, turn); err != nil || len(r.outcome.Pending) > 0 {
				return err
			}
		case strings.TrimSpace(turn.text) != "":
			return nil
		case r.silent || step >= r.limits.Steps:
			return &ModelError{errEmptyAnswer}
		default:
			r.silent = true
		}
	}
}

// reasonNoTools is the reason for an agent without tools. The model does not
// see it.
const reasonNoTools = "there are none"

// finalReason returns why the next request is the last one, or "" if the model
// may call tools.
func (r *run) finalReason(step int) string {
	l := r.limits
	prompt := min(r.window.tokens(), r.promptBudget())
	switch {
	case len(r.task.Tools) == 0:
		return reasonNoTools
	case step >= l.Steps:
		return fmt.Sprintf("the limit of %d steps is reached", l.Steps)
	case r.outcome.ToolCalls >= l.Calls:
		return fmt.Sprintf("the limit of %d tool calls is reached", l.Calls)
	case r.outcome.Usage.TotalTokens()+2*(prompt+r.maxAnswerTokens()) > l.Tokens && step > 1:
		return "the limit of tokens is near"
	case r.elapsed() > l.Timeout-l.AnswerReserve:
		return "the limit of time is near"
	case r.repeats >= maxRepeats:
		return "the same calls were made again and again"
	}
	return ""
}

// maxAnswerTokens returns how many tokens one answer may have.
func (r *run) maxAnswerTokens() int {
	_, answer := llm.LimitsOf(r.task.Model).Split(r.limits.AnswerTokens)
	return answer
}

// minPromptTokens is the size of a prompt that is allowed even when the tokens
// of the run are used up.
const minPromptTokens = 2048

// promptBudget returns how many tokens a prompt may have.
func (r *run) promptBudget() int {
	room, answer := llm.LimitsOf(r.task.Model).Split(r.limits.AnswerTokens)
	left := r.limits.Tokens - r.outcome.Usage.TotalTokens() - answer
	return max(min(room, left)>>r.halvings, min(minPromptTokens, room))
}

// turn is the text and the tool calls of one reply of the model.
type turn struct {
	text  string // as the model wrote it
	calls []llm.ToolCall
}

// nextTurn makes one request. If the provider finds the prompt too long,
// nextTurn repeats the request once with half the material.
func (r *run) nextTurn(ctx context.Context, step int, final string) (made turn, err error) {
	status := Planning
	if final != "" {
		status = Answering
	}
	if err := r.emitEvent(ctx, Iteration{Number: step, Status: status}); err != nil {
		return turn{}, err
	}
	ctx, span := tracing.Start(ctx, "agent step", slog.Int("magpie.agent.step", step))
	defer func() {
		span.Set(slog.Int("magpie.agent.calls", len(made.calls)))
		span.End(err)
	}()
	t, err := r.streamTurn(ctx, step, final)
	if provider.IsKind(err, provider.KindContextLength) && t.text == "" && ctx.Err() == nil {
		r.halvings++
		t, err = r.streamTurn(ctx, step, final)
	}
	if flushed := r.task.Citer.Flush(); err == nil {
		err = r.writeAnswer(ctx, flushed)
	}
	return t, err
}

// streamTurn makes one request and emits the answer as it arrives.
func (r *run) streamTurn(ctx context.Context, step int, final string) (t turn, err error) {
	r.window.fit(r.promptBudget())
	request := llm.Request{
		Messages: append([]llm.Message{{Role: llm.RoleSystem, Content: r.systemPrompt()}}, r.window.messages()...),
		Tools:    modelTools(r.task.Tools), ToolsOff: final != "", MaxTokens: r.maxAnswerTokens(), Temperature: temperature,
	}
	if final != "" && final != reasonNoTools {
		request.Messages = append(request.Messages, llm.Message{Role: llm.RoleUser, Content: fmt.Sprintf(answerNow, final)})
	}
	var text strings.Builder
	defer func() { t.text = text.String() }()
	counted := false
	defer func() {
		if !counted { // the stream broke before the provider's count
			r.addUsage(llm.Usage{PromptTokens: r.window.tokens(), CompletionTokens: r.loop.opt.Tokens.Count(text.String())})
		}
	}()
	answering := final != ""
	for event, err := range r.task.Model.Stream(ctx, request) {
		if err != nil {
			if spent := llm.Spent(err); spent != (llm.Usage{}) {
				counted = true
				r.addUsage(spent)
			}
			if ctx.Err() != nil {
				return t, context.Cause(ctx)
			}
			return t, &ModelError{err}
		}
		if event.Usage != nil {
			counted = true
			r.addUsage(*event.Usage)
		}
		if event.Call != nil {
			t.calls = append(t.calls, *event.Call)
		}
		if event.Text == "" {
			continue
		}
		if text.Len() == 0 {
			if !answering {
				if err := r.emitEvent(ctx, Iteration{Number: step, Status: Answering}); err != nil {
					return t, err
				}
			}
			if r.answer.Len() > 0 {
				if err := r.writeAnswer(ctx, "\n\n"); err != nil { // after the text before the tool calls
					return t, err
				}
			}
		}
		text.WriteString(event.Text)
		if err := r.writeAnswer(ctx, r.task.Citer.Write(event.Text)); err != nil {
			return t, err
		}
		if text.Len() > maxBytesPerToken*r.limits.AnswerTokens {
			return t, &ModelError{errAnswerTooLong}
		}
	}
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	return t, nil
}

const (
	// temperature keeps the answer close to the tool results.
	temperature = 0.2
	// maxBytesPerToken detects a model that ignores its token limit: an answer
	// with more bytes per allowed token is cut off.
	maxBytesPerToken = 32
)

func (r *run) addUsage(u llm.Usage) {
	r.outcome.Usage.PromptTokens += u.PromptTokens
	r.outcome.Usage.CompletionTokens += u.CompletionTokens
}

// writeAnswer emits the next piece of the answer.
func (r *run) writeAnswer(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	r.answer.WriteString(text)
	return r.emitEvent(ctx, Content{Text: text})
}

func (r *run) emitEvent(ctx context.Context, event Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.emit(event)
}
