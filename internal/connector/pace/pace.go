package pace

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/connectors"
)

// Options are settings with useful zero values.
type Options struct {
	// Redis holds what the processes share; nil counts in this process only. A
	// client of a cluster needs ContextTimeoutEnabled for Patience to bind.
	Redis redis.UniversalClient
	// Salt keeps whoever reads Redis from guessing credentials by their hashes.
	// All processes need the same to share a pace.
	Salt []byte
	// Patience is how long Redis may take to answer: 250 ms.
	Patience time.Duration
	// Longest is how long a turn is waited for; what takes longer is an error
	// that says when to come back: 5 s.
	Longest time.Duration
	Log     *slog.Logger
	// Now is the clock of this process, for the times when it counts for itself.
	Now func() time.Time
}

const (
	prefix        = "magpie:pace:"
	restAfterFail = time.Second
	maxLocal      = 10_000
	longestHold   = time.Hour
)

// Pacer gives turns. It is safe for concurrent use and starts nothing.
type Pacer struct {
	redis redis.UniversalClient
	opt   Options
	local *local

	mu        sync.Mutex
	awayUntil time.Time // Redis is not asked before
	away      bool
}

// New makes a pacer. The Redis client stays the caller's to close.
func New(o Options) *Pacer {
	if o.Patience <= 0 {
		o.Patience = 250 * time.Millisecond
	}
	if o.Longest <= 0 {
		o.Longest = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Pacer{redis: o.Redis, opt: o, local: &local{lines: map[string]standing{}}}
	if client, ok := o.Redis.(*redis.Client); ok {
		// By default the client waits for answers by its own clock, whatever the context says.
		p.redis = client.WithTimeout(o.Patience)
	}
	return p
}

// Line is where everybody queues who works with the same credentials.
type Line struct {
	pacer    *Pacer
	key      string
	interval time.Duration // between requests; 0 is at will
	burst    int
}

// Of returns the line of a kind with some settings. grant is the id of the OAuth
// grant that takes the place of credentials, "" for none.
func (p *Pacer) Of(kind connectors.Kind, s connectors.Settings, grant string) *Line {
	l := &Line{pacer: p, key: p.key(kind, s, grant), burst: max(kind.RateLimit.Burst, 1)}
	if kind.RateLimit.PerMinute > 0 {
		l.interval = time.Minute / time.Duration(kind.RateLimit.PerMinute)
	}
	return l
}

// WaitError says that a turn is too far away to be waited for. To package
// connectors it is a retryable error.
type WaitError struct{ after time.Duration }

func (e *WaitError) Error() string {
	return fmt.Sprintf("the platform takes no further request for %s", e.after.Round(time.Second))
}

// RetryAfter is when the turn comes.
func (e *WaitError) RetryAfter() time.Duration { return e.after }

// Turn waits until the next request may be made, or returns a *[WaitError] when
// that takes longer than Longest, and the context's error when that ends.
func (l *Line) Turn(ctx context.Context) error {
	wait, err := l.pacer.ask(ctx, l, l.pacer.opt.Longest)
	switch {
	case err != nil:
		return err
	case wait > l.pacer.opt.Longest:
		return &WaitError{after: wait}
	case wait <= 0:
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Held is for how long the platform is to be left alone, 0 for not at all. It
// takes no turn.
func (l *Line) Held(ctx context.Context) time.Duration {
	wait, err := l.pacer.held(ctx, l)
	if err != nil {
		return 0
	}
	return wait
}

// Hold leaves the platform alone for a time that it asked for, everybody in the
// line. A shorter time than one that was asked for before changes nothing. At
// most an hour counts.
func (l *Line) Hold(ctx context.Context, after time.Duration) {
	if after = min(after, longestHold); after <= 0 {
		return
	}
	p := l.pacer
	p.local.hold(l.key, after, p.opt.Now())
	if _, err := p.script(ctx, holdScript, l.key, after.Milliseconds()); err != nil && ctx.Err() == nil {
		p.lost(err)
	}
}

// ask takes a turn unless it is further away than longest, and says how far it is.
func (p *Pacer) ask(ctx context.Context, l *Line, longest time.Duration) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	wait, err := p.script(ctx, turnScript, l.key, l.interval.Microseconds(), l.burst, longest.Microseconds())
	if err == nil {
		return wait, nil
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	p.lost(err)
	return p.local.turn(l, longest, p.opt.Now()), nil
}

func (p *Pacer) held(ctx context.Context, l *Line) (time.Duration, error) {
	wait, err := p.script(ctx, heldScript, l.key)
	if err == nil || ctx.Err() != nil {
		return wait, err
	}
	p.lost(err)
	return p.local.held(l.key, p.opt.Now()), nil
}

// script runs a script over one key and reads its answer, a time in microseconds.
func (p *Pacer) script(ctx context.Context, s *redis.Script, key string, args ...any) (time.Duration, error) {
	if p.redis == nil || p.resting() {
		return 0, errAway
	}
	ctx, cancel := context.WithTimeout(ctx, p.opt.Patience)
	defer cancel()
	answer, err := s.Run(ctx, p.redis, []string{prefix + key}, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("ask Redis for a turn: %w", err)
	}
	p.found()
	return time.Duration(answer) * time.Microsecond, nil
}
