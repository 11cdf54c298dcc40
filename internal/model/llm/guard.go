package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/request/breaker"
)

// Defaults of GuardOptions.
const (
	guardFailures = 3
	guardPause    = 30 * time.Second
	// longestPause bounds the pause where a service asks for a longer one.
	longestPause = 5 * time.Minute
)

// GuardOptions are the settings of a Guard; the zero value is useful.
type GuardOptions struct {
	// Failures in a row before the model is passed over; 0 means 3.
	Failures int
	// Pause is how long it is passed over; 0 means 30 seconds. A service that asked for longer gets up to five minutes.
	Pause time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log is told when a model is passed over and when it answers again; nil discards it.
	Log *slog.Logger
}

// Guard is a ChatModel that is passed over for a while after it failed several times in a row before its first word, so
// that not every visitor waits for its time-out. Requests are then refused at once. After the pause one request tries the
// model again, and the others are refused until it has begun to answer. Failures that say nothing about the service, such as a request that is
// too long, and requests that were given up do not count. It is safe for concurrent use.
type Guard struct {
	ChatModel
	circuit *breaker.Breaker
	log     *slog.Logger
}

// NewGuard guards a model.
func NewGuard(model ChatModel, opt GuardOptions) *Guard {
	if opt.Failures <= 0 {
		opt.Failures = guardFailures
	}
	if opt.Pause <= 0 {
		opt.Pause = guardPause
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	circuit := breaker.New(breaker.Options{Failures: opt.Failures, Pause: opt.Pause, Now: opt.Now})
	return &Guard{ChatModel: model, circuit: circuit, log: opt.Log}
}

// Limits are those of the model.
func (g *Guard) Limits() Limits { return LimitsOf(g.ChatModel) }

// Stream implements ChatModel. Where the model is passed over, the error is a *provider.Error of the kind unavailable.
func (g *Guard) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		call, left, ok := g.circuit.Allow()
		if !ok {
			yield(Event{}, &provider.Error{
				Kind: provider.KindUnavailable, Op: "chat", Message: "passed over after several failures in a row", After: left,
			})
			return
		}
		defer call.Abandon()
		settled := false
		for event, err := range g.ChatModel.Stream(ctx, request) {
			if !settled && (err != nil || event.Text != "" || event.Call != nil || event.Usage != nil) {
				settled = g.settle(ctx, &call, err)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// settle notes how a request began and reports whether that tells anything about the service.
func (g *Guard) settle(ctx context.Context, call *breaker.Call, err error) bool {
	if err == nil {
		if call.Succeed() {
			g.log.InfoContext(ctx, "a chat model answers again", slog.String("model", g.Name()))
		}
		return true
	}
	if ctx.Err() != nil || !provider.IsOutage(err) {
		return false
	}
	var failure *provider.Error
	errors.As(err, &failure)
	if pause, failures, opened := call.Fail(min(failure.RetryAfter(), longestPause)); opened {
		g.log.WarnContext(ctx, "a chat model is passed over after failures in a row",
			slog.String("model", g.Name()), slog.Int("failures", failures), slog.Duration("pause", pause))
	}
	return true
}
