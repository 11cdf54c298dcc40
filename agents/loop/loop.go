package loop

import (
	"context"
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
)

// Why a run failed.
var (
	// ErrTooSlow is that it took longer than its limit.
	ErrTooSlow  = errors.New("the run took too long")
	errNoAnswer = errors.New("the model wrote nothing")
	errEndless  = errors.New("the model writes without end")
)

// ModelError marks what the model or its provider did wrong.
type ModelError struct{ Err error }

// Error implements error.
func (e *ModelError) Error() string { return "ask the model: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Citer numbers what documents say and keeps account of what an answer cites.
type Citer interface {
	// Add returns the number of a passage's document, from 1. It is safe for concurrent use.
	Add(hit search.Hit) int
	// Write takes the next piece of the answer, with numbers that Add gave in brackets, and returns what can be shown of it
	// by now; Flush returns what was held back.
	Write(text string) string
	Flush() string
	// Cite cites a document by its number outside of Write and returns the mark to show.
	Cite(number int) string
}

// Quote is a part of a passage that answers a question, verbatim.
type Quote struct {
	Text string
	Hit  int // place of its passage in what was given
	// Block says that Text is a table, code or a list and stands on lines of its own.
	Block bool
}

// Task is what a run is to do.
type Task struct {
	// System is the agent's own system prompt.
	System string
	// History is what was said in the conversation before, the oldest first.
	History []llm.Message
	Message string
	// Memories are told to the model as data.
	Memories []Memory
	// Tools are all that can be called, whatever anybody says on the way.
	Tools []Tool
	// Model is asked; nil leaves the run to the planner without a model.
	Model llm.ChatModel
	Cites Citer // nil takes no account of citations
	// Quotes finds what answers a question in passages, for runs without a model.
	Quotes func(question string, hits []search.Hit) []Quote
}

// Outcome is what a run came to, as far as it got.
type Outcome struct {
	Answer     string
	Usage      llm.Usage
	Iterations int
	ToolCalls  int
}

// Options of a Loop.
type Options struct {
	Limits Limits
	// Tokens counts what goes into prompts. Share the one of the models; nil makes one.
	Tokens *llm.TokenCounter
	// Log receives what readers are not told, with ids and without text; nil discards it.
	Log *slog.Logger
}

// Loop runs agents. It is safe for concurrent use. Close waits for tools that did not stop when they were told to.
type Loop struct {
	opt   Options
	calls sync.WaitGroup
}

// New makes a loop; an error names the limit that is missing.
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

// Close waits for tool calls that outlived their run. No run may begin any more.
func (l *Loop) Close() { l.calls.Wait() }

// run is one run. It belongs to one goroutine.
type run struct {
	loop   *Loop
	limits Limits
	task   Task
	emit   func(Event) error
	began  time.Time
	tools  map[string]*Tool
	window window
	out    Outcome

	said    strings.Builder
	ids     map[string]bool
	made    map[string]*past // calls by what they ask for
	repeats int
	squeeze int // how often the budget was halved, since the service found the prompt too long
}

// Run does a task and tells emit of every step, from one goroutine at a time; an error of emit ends the run and is
// returned. When ctx ends the run ends at once with its cause. The outcome stands in every case.
func (l *Loop) Run(ctx context.Context, task Task, emit func(Event) error) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.opt.Limits.Time, ErrTooSlow)
	defer cancel()
	r := &run{
		loop: l, limits: l.opt.Limits, task: task, emit: emit, began: time.Now(),
		tools: make(map[string]*Tool, len(task.Tools)), ids: map[string]bool{}, made: map[string]*past{},
		window: window{count: l.opt.Tokens.Count},
	}
	if r.task.Cites == nil {
		r.task.Cites = noCites{}
	}
	for i := range task.Tools {
		r.tools[task.Tools[i].Name] = &r.task.Tools[i]
	}
	err := r.safely(ctx)
	r.out.Answer = r.said.String()
	return r.out, err
}

// safely turns a panic into an error: hostile text must not take the process down.
func (r *run) safely(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if r.task.Model == nil {
		return r.plain(ctx)
	}
	return r.think(ctx)
}

// think is the loop with a model.
func (r *run) think(ctx context.Context) error {
	r.window.fixed = r.window.count(r.system()) + messageOverhead + r.loop.opt.Tokens.CountTools(schemas(r.task.Tools))
	for _, message := range r.task.History {
		r.window.add(entry{message: message})
	}
	r.window.add(entry{message: llm.Message{Role: llm.RoleUser, Content: r.question()}, step: 1})
	silent := false
	for step := 1; ; step++ {
		r.out.Iterations = step
		last := r.last(step)
		if silent && last == "" {
			last = "you wrote nothing"
		}
		turn, err := r.ask(ctx, step, last)
		if err != nil {
			return err
		}
		switch {
		case len(turn.calls) > 0 && last == "":
			if err := r.act(ctx, step, turn); err != nil {
				return err
			}
			silent = false
		case strings.TrimSpace(turn.text) != "":
			return nil
		case silent || step >= r.limits.Steps:
			return &ModelError{errNoAnswer}
		default:
			silent = true
		}
	}
}

// noTools is why an agent without tools answers at once; it is not told to the model.
const noTools = "there are none"

// last returns why this request has to be the last one; "" when tools may be called.
func (r *run) last(step int) string {
	l := r.limits
	prompt := min(r.window.size(), r.budget())
	switch {
	case len(r.task.Tools) == 0:
		return noTools
	case step >= l.Steps:
		return fmt.Sprintf("the limit of %d steps is reached", l.Steps)
	case r.out.ToolCalls >= l.Calls:
		return fmt.Sprintf("the limit of %d tool calls is reached", l.Calls)
	case r.out.Usage.TotalTokens()+2*(prompt+r.written()) > l.Tokens && step > 1:
		return "the limit of tokens is near"
	case time.Since(r.began) > l.Time-l.AnswerTime:
		return "the limit of time is near"
	case r.repeats >= maxRepeats:
		return "the same calls were made again and again"
	}
	return ""
}

// written is how many tokens an answer may have.
func (r *run) written() int {
	limits := llm.LimitsOf(r.task.Model)
	written := min(r.limits.AnswerTokens, limits.ContextWindow/3)
	if limits.MaxOutputTokens > 0 {
		written = min(written, limits.MaxOutputTokens)
	}
	return written
}

// leastPrompt is what a prompt may have even when the tokens of the run are used up.
const leastPrompt = 2048

// budget is how many tokens a prompt may have: models count differently, a quarter of what the window leaves stays free.
func (r *run) budget() int {
	room := (llm.LimitsOf(r.task.Model).ContextWindow - r.written()) * 3 / 4
	left := r.limits.Tokens - r.out.Usage.TotalTokens() - r.written()
	return max(min(room, left)>>r.squeeze, min(leastPrompt, room))
}

// turn is what the model said and asked for in one request.
type turn struct {
	text  string // as the model wrote it
	calls []llm.ToolCall
}

// ask makes one request. One that the service finds too long is made once more, with half the material.
func (r *run) ask(ctx context.Context, step int, last string) (turn, error) {
	status := Planning
	if last != "" {
		status = Answering
	}
	if err := r.tell(ctx, Iteration{Number: step, Status: status}); err != nil {
		return turn{}, err
	}
	t, err := r.request(ctx, step, last)
	if provider.IsKind(err, provider.KindContextLength) && t.text == "" && ctx.Err() == nil {
		r.squeeze++
		t, err = r.request(ctx, step, last)
	}
	if flushed := r.task.Cites.Flush(); err == nil {
		err = r.say(ctx, flushed)
	}
	return t, err
}

func (r *run) request(ctx context.Context, step int, last string) (t turn, err error) {
	r.window.fit(r.budget())
	request := llm.Request{
		Messages: append([]llm.Message{{Role: llm.RoleSystem, Content: r.system()}}, r.window.messages()...),
		Tools:    schemas(r.task.Tools), ToolsOff: last != "", MaxTokens: r.written(), Temperature: temperature,
	}
	if last != "" && last != noTools {
		request.Messages = append(request.Messages, llm.Message{Role: llm.RoleUser, Content: fmt.Sprintf(enough, last)})
	}
	var text strings.Builder
	defer func() { t.text = text.String() }()
	counted := false
	defer func() {
		if !counted { // broken off: the provider's count never came
			r.count(llm.Usage{PromptTokens: r.window.size(), CompletionTokens: r.loop.opt.Tokens.Count(text.String())})
		}
	}()
	answering := last != ""
	for event, err := range r.task.Model.Stream(ctx, request) {
		if err != nil {
			if spent := llm.Spent(err); spent != (llm.Usage{}) {
				counted = true
				r.count(spent)
			}
			if ctx.Err() != nil {
				return t, context.Cause(ctx)
			}
			return t, &ModelError{err}
		}
		if event.Usage != nil {
			counted = true
			r.count(*event.Usage)
		}
		if event.Call != nil {
			t.calls = append(t.calls, *event.Call)
		}
		if event.Text == "" {
			continue
		}
		if text.Len() == 0 {
			if !answering {
				if err := r.tell(ctx, Iteration{Number: step, Status: Answering}); err != nil {
					return t, err
				}
			}
			if r.said.Len() > 0 {
				if err := r.say(ctx, "\n\n"); err != nil { // behind what it said before its calls
					return t, err
				}
			}
		}
		text.WriteString(event.Text)
		if err := r.say(ctx, r.task.Cites.Write(event.Text)); err != nil {
			return t, err
		}
		if text.Len() > endless*r.limits.AnswerTokens {
			return t, &ModelError{errEndless}
		}
	}
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	return t, nil
}

const (
	// temperature keeps a model close to what its tools gave.
	temperature = 0.2
	// endless is how many bytes of an answer for each token that it may have show that its model does not keep to that.
	endless = 32
)

func (r *run) count(u llm.Usage) {
	r.out.Usage.PromptTokens += u.PromptTokens
	r.out.Usage.CompletionTokens += u.CompletionTokens
}

// say shows more of the answer.
func (r *run) say(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	r.said.WriteString(text)
	return r.tell(ctx, Content{Text: text})
}

func (r *run) tell(ctx context.Context, event Event) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.emit(event)
}
