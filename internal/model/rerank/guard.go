package rerank

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/request/breaker"
)

// ErrPassedOver is returned for passages that were not sent to the service,
// because it did not answer before.
var ErrPassedOver = errors.New("the reranking model is passed over after failures")

// GuardOptions are the settings of a Guard; the zero value is useful.
type GuardOptions struct {
	// Failures in a row, or one call that took all of its time, after which the
	// model is passed over; 0 means 3. Pause is for how long; 0 means two
	// seconds. Each try that fails doubles it up to half a minute.
	Failures int
	Pause    time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Log is told when the model is passed over and when it answers again; nil discards it.
	Log *slog.Logger
}

const (
	guardPause    = 2 * time.Second
	guardMaxPause = 30 * time.Second
)

// Guard is a Reranker that is passed over for a while when it does not answer, so
// that not every search waits for its time-out. It is safe for concurrent use.
type Guard struct {
	Reranker
	circuit *breaker.Breaker
	log     *slog.Logger
}

// NewGuard guards a reranker, which bounds the time of a call itself.
func NewGuard(model Reranker, opt GuardOptions) *Guard {
	if opt.Pause <= 0 {
		opt.Pause = guardPause
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	circuit := breaker.New(breaker.Options{Failures: opt.Failures, Pause: opt.Pause, MaxPause: guardMaxPause, Now: opt.Now})
	return &Guard{Reranker: model, circuit: circuit, log: opt.Log}
}

// Rerank implements Reranker. Where the model is passed over, the error is ErrPassedOver.
func (g *Guard) Rerank(ctx context.Context, query string, passages []string) ([]float64, error) {
	call, _, ok := g.circuit.Allow()
	if !ok {
		return nil, ErrPassedOver
	}
	defer call.Abandon()
	scores, err := g.Reranker.Rerank(ctx, query, passages)
	switch {
	case err == nil:
		if call.Succeed() {
			g.log.InfoContext(ctx, "the reranking model answers again", slog.String("model", g.Model()))
		}
		return scores, nil
	case ctx.Err() != nil || !provider.IsOutage(err):
		return nil, err
	}
	end := func() (time.Duration, int, bool) { return call.Fail(retryAfter(err)) }
	if provider.IsKind(err, provider.KindTimeout) {
		end = call.Timeout
	}
	if pause, failures, opened := end(); opened {
		g.log.WarnContext(ctx, "the reranking model is passed over: results keep their order",
			slog.String("model", g.Model()), slog.Int("failures", failures), slog.Duration("pause", pause))
	}
	return nil, err
}

// retryAfter is how long the service asked to wait, within reason.
func retryAfter(err error) time.Duration {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return min(failure.RetryAfter(), guardMaxPause)
}
