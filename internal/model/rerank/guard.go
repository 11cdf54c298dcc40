package rerank

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/request/breaker"
)

// ErrCircuitOpen is returned for passages that were not sent, because the service failed before.
var ErrCircuitOpen = errors.New("the reranking model is not asked after failures")

// GuardOptions are the options of a Guard. Zero fields have defaults.
type GuardOptions struct {
	// Failures is the number of consecutive failures that open the circuit; 3 when zero. One
	// timeout opens it, too. Pause is how long it is open; 2 s when zero. Each failed test
	// doubles it up to 30 s.
	Failures int
	Pause    time.Duration
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Log logs when the circuit opens and closes; nil logs nothing.
	Log *slog.Logger
	// Observe is told of each request that is sent; nil for nobody.
	Observe provider.Observe
}

const (
	guardPause    = 2 * time.Second
	guardMaxPause = 30 * time.Second
)

// A Guard is a Reranker with a circuit breaker, so that not every search waits for the
// timeout of a failed service. It is safe for concurrent use.
type Guard struct {
	Reranker
	circuit *breaker.Breaker
	now     func() time.Time
	log     *slog.Logger
	observe provider.Observe
	record  provider.Record
}

// NewGuard returns a Guard of a reranker, which must have its own timeout.
func NewGuard(model Reranker, opt GuardOptions) *Guard {
	if opt.Pause <= 0 {
		opt.Pause = guardPause
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	circuit := breaker.New(breaker.Options{Failures: opt.Failures, Pause: opt.Pause, MaxPause: guardMaxPause, Now: opt.Now})
	return &Guard{Reranker: model, circuit: circuit, now: opt.Now, log: opt.Log, observe: opt.Observe}
}

// IsOpen reports whether the service is left out at the moment because it has failed.
func (g *Guard) IsOpen() bool { return g.circuit.IsOpen() }

// LastFailure returns the last failure that counts for the circuit; nil for none.
func (g *Guard) LastFailure() *provider.Failure { return g.record.Last() }

// Rerank implements Reranker. It returns ErrCircuitOpen while the circuit is open.
func (g *Guard) Rerank(ctx context.Context, query string, passages []string) ([]float64, error) {
	call, _, ok := g.circuit.Allow()
	if !ok {
		return nil, ErrCircuitOpen
	}
	defer call.Abandon()
	start, ended := time.Now(), g.observe.Begin(ctx)
	scores, err := g.Reranker.Rerank(ctx, query, passages)
	ended(ctx, err)
	provider.Trace(ctx, "rerank", g.Model(), start, err, slog.Int("magpie.passages", len(passages)))
	switch {
	case err == nil:
		if call.Succeed() {
			g.log.InfoContext(ctx, "reranking model recovered", slog.String("model", g.Model()))
		}
		return scores, nil
	case ctx.Err() != nil || !provider.IsOutage(err):
		return nil, err
	}
	g.record.Note(err, g.now())
	end := func() (time.Duration, int, bool) { return call.Fail(retryAfter(err)) }
	if provider.IsKind(err, provider.KindTimeout) {
		end = call.Timeout
	}
	if pause, failures, opened := end(); opened {
		g.log.WarnContext(ctx, "reranking model not asked after failures, results keep their order",
			slog.String("model", g.Model()), slog.Int("failures", failures), slog.Duration("pause", pause))
	}
	return nil, err
}

// retryAfter returns the delay that the service asked for, up to guardMaxPause.
func retryAfter(err error) time.Duration {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return min(failure.RetryAfter(), guardMaxPause)
}
