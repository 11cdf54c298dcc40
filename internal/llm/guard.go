package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"magpie/internal/llm/provider"
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
	opt GuardOptions

	mu      sync.Mutex
	failed  int       // in a row
	until   time.Time // passed over until then; zero: not at all
	probing bool      // a request is trying the model after the pause
}

// NewGuard guards a model.
func NewGuard(model ChatModel, opt GuardOptions) *Guard {
	if opt.Failures <= 0 {
		opt.Failures = guardFailures
	}
	if opt.Pause <= 0 {
		opt.Pause = guardPause
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Guard{ChatModel: model, opt: opt}
}

// Limits are those of the model.
func (g *Guard) Limits() Limits { return LimitsOf(g.ChatModel) }

// Stream implements ChatModel. Where the model is passed over, the error is a *provider.Error of the kind unavailable.
func (g *Guard) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		probe, err := g.admit()
		if err != nil {
			yield(Event{}, err)
			return
		}
		settled := false
		defer func() {
			if probe && !settled {
				g.release()
			}
		}()
		for event, err := range g.ChatModel.Stream(ctx, request) {
			if !settled && (err != nil || event.Text != "" || event.Call != nil || event.Usage != nil) {
				settled = g.settle(ctx, err)
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// admit lets a request through, as a probe where the pause has just ended.
func (g *Guard) admit() (probe bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until.IsZero() {
		return false, nil
	}
	left := g.until.Sub(g.opt.Now())
	if left > 0 || g.probing {
		return false, &provider.Error{Kind: provider.KindUnavailable, Op: "chat", Message: "passed over after several failures in a row", After: max(left, 0)}
	}
	g.probing = true
	return true, nil
}

// release ends a probe that told nothing.
func (g *Guard) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.probing = false
}

// settle notes how a request began and reports whether that tells anything about the service.
func (g *Guard) settle(ctx context.Context, err error) bool {
	if err != nil && (ctx.Err() != nil || !counts(err)) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		if !g.until.IsZero() {
			g.opt.Log.InfoContext(ctx, "a chat model answers again", slog.String("model", g.Name()))
		}
		g.failed, g.until, g.probing = 0, time.Time{}, false
		return true
	}
	g.failed++
	if g.probing || g.failed >= g.opt.Failures {
		pause := g.opt.Pause
		var failure *provider.Error
		if errors.As(err, &failure) {
			pause = max(pause, min(failure.RetryAfter(), longestPause))
		}
		g.until, g.probing = g.opt.Now().Add(pause), false
		g.opt.Log.WarnContext(ctx, "a chat model is passed over after failures in a row",
			slog.String("model", g.Name()), slog.Int("failures", g.failed), slog.Duration("pause", pause))
	}
	return true
}

// counts reports whether an error says that the service does not work.
func counts(err error) bool {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Kind {
	case provider.KindAuth, provider.KindRateLimited, provider.KindUnavailable, provider.KindTimeout, provider.KindInterrupted:
		return true
	case provider.KindContextLength, provider.KindRefused, provider.KindInvalid, provider.KindNoTools:
	}
	return false
}
