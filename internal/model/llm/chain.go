package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// errSilent is the failure of a model that completed an answer without a word.
var errSilent = &provider.Error{Kind: provider.KindInvalid, Op: "chat", Message: "the model wrote nothing"}

// Chain is a ChatModel that asks several, one after the other, until one begins to answer.
type Chain struct {
	models []ChatModel
	log    *slog.Logger
}

// NewChain makes a chain of a model and those that stand in for it, in this order. The log is told whenever one stands in;
// nil discards it.
func NewChain(log *slog.Logger, first ChatModel, standIns ...ChatModel) *Chain {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Chain{models: append([]ChatModel{first}, standIns...), log: log}
}

// Name is that of the first model.
func (c *Chain) Name() string { return c.models[0].Name() }

// Limits are what all of the models take, since they are asked the same.
func (c *Chain) Limits() Limits {
	limits := LimitsOf(c.models[0])
	for _, model := range c.models[1:] {
		limits = limits.within(LimitsOf(model))
	}
	return limits
}

// Stream implements ChatModel. The next model is asked when one fails before the first text, and when one completes without
// any; not when it refused to answer, nor when the context has ended. Once there is text, an error ends the stream. The
// usage is the sum of what every model reported.
func (c *Chain) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var spent Usage
		for i, model := range c.models {
			last := i == len(c.models)-1
			l := link{yield: yield, spent: spent, last: last}
			l.stream(ctx, model, request)
			spent = l.spent
			if l.over {
				return
			}
			if last || l.started || ctx.Err() != nil || provider.IsKind(l.failure, provider.KindRefused) {
				yield(Event{}, withSpent(l.failure, spent))
				return
			}
			c.log.WarnContext(ctx, "a chat model failed before its first word; the next one is asked",
				slog.String("model", model.Name()), slog.String("next", c.models[i+1].Name()), slog.Any("error", l.failure))
		}
	}
}

// link is one model of a chain being asked.
type link struct {
	yield   func(Event, error) bool
	last    bool
	spent   Usage
	started bool
	over    bool // the answer is complete, or the consumer wants no more
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
				l.failure = errSilent
				return
			}
			event.Usage = new(l.spent)
			l.over = true
		}
		if !l.yield(event, nil) {
			l.over = true
			return
		}
	}
	if !l.over && l.failure == nil {
		l.failure = errors.New("chat: the model's stream has no end")
	}
}
