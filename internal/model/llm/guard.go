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
	// maxPause limits the pause that a service asks for.
	maxPause = 5 * time.Minute
)

// GuardOptions are the options of a Guard. Zero fields have defaults.
type GuardOptions struct {
	// Failures is the number of consecutive failures that open the circuit; 3 when zero.
	Failures int
	// Pause is how long the circuit is open; 30 s when zero. A service may ask for up to five minutes.
	Pause time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log logs when the circuit opens and closes; nil logs nothing.
	Log *slog.Logger
	// Observe is told of each request that is sent, until the answer begins; nil for nobody.
	Observe provider.Observe
}

// A Guard is a ChatModel with a circuit breaker. After several consecutive failures before the first text, the circuit
// opens: requests fail immediately instead of waiting for a timeout. After the pause, one request tests the model, and the
// others fail until it has begun to answer. Failures that are not outages, such as a request that is too long, and
// canceled requests do not count. A Guard is safe for concurrent use.
type Guard struct {
	ChatModel
	circuit *breaker.Breaker
	now     func() time.Time
	log     *slog.Logger
	observe provider.Observe
	record  provider.Record
}

// NewGuard returns a Guard of a model.
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
	if opt.Now == nil {
		opt.Now = time.Now
	}
	circuit := breaker.New(breaker.Options{Failures: opt.Failures, Pause: opt.Pause, Now: opt.Now})
	return &Guard{ChatModel: model, circuit: circuit, now: opt.Now, log: opt.Log, observe: opt.Observe}
}

// IsOpen reports whether requests fail at the moment because the model has failed.
func (g *Guard) IsOpen() bool { return g.circuit.IsOpen() }

// LastFailure returns the last failure that counts for the circuit; nil for none.
func (g *Guard) LastFailure() *provider.Failure { return g.record.Last() }

// Limits returns the limits of the model.
func (g *Guard) Limits() Limits { return LimitsOf(g.ChatModel) }

// Stream implements ChatModel. While the circuit is open, the error is a *provider.Error of the kind unavailable.
func (g *Guard) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		call, left, ok := g.circuit.Allow()
		if !ok {
			yield(Event{}, &provider.Error{
				Kind: provider.KindUnavailable, Op: "chat", Message: "not asked after several consecutive failures", After: left,
			})
			return
		}
		defer call.Abandon()
		begun, observed := false, g.observe.Begin(ctx)
		defer func() {
			if !begun {
				observed(ctx, ctx.Err())
			}
		}()
		var spent Usage
		var failed error
		ctx, span := provider.StartSpan(ctx, "chat", g.Name())
		defer func() { provider.EndSpan(span, spent.PromptTokens, spent.CompletionTokens, failed) }()
		for event, err := range g.ChatModel.Stream(ctx, request) {
			if !begun && (err != nil || event.Text != "" || event.Call != nil || event.Usage != nil) {
				begun = true
				observed(ctx, err)
				g.settle(ctx, &call, err)
			}
			if err != nil {
				failed, spent = err, spent.plus(Spent(err))
			} else if event.Usage != nil {
				spent = *event.Usage
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// settle records the outcome of the beginning of a request, if it counts for the circuit.
func (g *Guard) settle(ctx context.Context, call *breaker.Call, err error) {
	if err == nil {
		if call.Succeed() {
			g.log.InfoContext(ctx, "chat model recovered", slog.String("model", g.Name()))
		}
		return
	}
	if ctx.Err() != nil || !provider.IsOutage(err) {
		return
	}
	g.record.Note(err, g.now())
	var failure *provider.Error
	errors.As(err, &failure)
	if pause, failures, opened := call.Fail(min(failure.RetryAfter(), maxPause)); opened {
		g.log.WarnContext(ctx, "chat model not asked after consecutive failures",
			slog.String("model", g.Name()), slog.Int("failures", failures), slog.Duration("pause", pause))
	}
}
