package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// errEmptyAnswer is the failure of a model that completed an empty answer.
var errEmptyAnswer = &provider.Error{Kind: provider.KindInvalid, Op: "chat", Message: "the model wrote nothing"}

// A Chain is a ChatModel that asks several models in order until one begins to answer.
type Chain struct {
	models []ChatModel
	log    *slog.Logger
}

// NewChain returns a chain of a model and its fallbacks, in order. It logs each use of a fallback; log may be nil.
func NewChain(log *slog.Logger, first ChatModel, fallbacks ...ChatModel) *Chain {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Chain{models: append([]ChatModel{first}, fallbacks...), log: log}
}

// Name returns the name of the first model.
func (c *Chain) Name() string { return c.models[0].Name() }

// Limits returns the limits that apply to all of the models.
func (c *Chain) Limits() Limits {
	limits := LimitsOf(c.models[0])
	for _, model := range c.models[1:] {
		limits = limits.min(LimitsOf(model))
	}
	return limits
}

// Stream implements ChatModel. It asks the next model if one fails before its first text or completes without text, unless
// the model refused to answer or the context has ended. After the first text, an error ends the stream. The usage is the
// sum over all models.
func (c *Chain) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var spent Usage
		for i, model := range c.models {
			last := i == len(c.models)-1
			l := link{yield: yield, spent: spent, last: last}
			l.stream(ctx, model, request)
			spent = l.spent
			if l.done {
				return
			}
			if last || l.started || ctx.Err() != nil || provider.IsKind(l.failure, provider.KindRefused) {
				yield(Event{}, withSpent(l.failure, spent))
				return
			}
			c.log.WarnContext(ctx, "chat model failed, asking the next one",
				slog.String("model", model.Name()), slog.String("next", c.models[i+1].Name()), slog.Any("error", l.failure))
		}
	}
}

// A link is a request to one model of a chain.
type link struct {
	yield   func(Event, error) bool
	last    bool
	spent   Usage
	started bool
	done    bool // the answer is complete, or the consumer has stopped reading
	failure error
}

func (l *link) stream(ctx context.Context, model ChatModel, request Request) {
	for event, err := range model.Stream(ctx, request) {
		if err != nil {
			l.failure, l.spent = err, l.spent.plus(Spent(err))
			return
		}
		l.started = l.started || event.Text != "" || event.Call != nil
		if event.Usage != nil {
			l.spent = l.spent.plus(*event.Usage)
			if !l.started && !l.last {
				l.failure = errEmptyAnswer
				return
			}
			event.Usage = new(l.spent)
			l.done = true
		}
		if !l.yield(event, nil) {
			l.done = true
			return
		}
	}
	if !l.done && l.failure == nil {
		l.failure = errors.New("chat: the stream of the model ended without its last event")
	}
}
