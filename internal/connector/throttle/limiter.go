package throttle

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/connectors"
)

// Options configure Limiters. All are optional.
type Options struct {
	// Redis shares the limits between processes. Without it each process has its
	// own. A cluster client needs ContextTimeoutEnabled, or RedisTimeout has no
	// effect.
	Redis redis.UniversalClient
	// Salt is hashed with the credentials, so that they cannot be guessed from the
	// keys in Redis. Processes with the same salt share limits.
	Salt []byte
	// RedisTimeout limits a request to Redis. Default: 250 ms.
	RedisTimeout time.Duration
	// MaxWait is the longest time that Wait waits. Default: 5 s.
	MaxWait time.Duration
	Log     *slog.Logger
	// Now is the clock for limits without Redis. Default: time.Now.
	Now func() time.Time
}

const (
	prefix         = "magpie:pace:"
	retryInterval  = time.Second
	maxLocalLimits = 10_000
	maxPause       = time.Hour
)

// Limiters returns limiters. It is safe for concurrent use.
type Limiters struct {
	redis redis.UniversalClient
	opt   Options
	local *local

	mu      sync.Mutex
	retryAt time.Time // no request to Redis before
	failing bool
}

// New returns Limiters. It does not close the Redis client.
func New(o Options) *Limiters {
	if o.RedisTimeout <= 0 {
		o.RedisTimeout = 250 * time.Millisecond
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Limiters{redis: o.Redis, opt: o, local: &local{limits: map[string]limit{}}}
	if client, ok := o.Redis.(*redis.Client); ok {
		// By default the client ignores the deadline of the context.
		m.redis = client.WithTimeout(o.RedisTimeout)
	}
	return m
}

// Limiter limits the requests with the same credentials.
type Limiter struct {
	limiters *Limiters
	key      string
	interval time.Duration // between requests; 0: no limit
	burst    int
}

// For returns the limiter of a connector's platform and credentials. grant is the
// id of the OAuth grant that replaces the credentials, or nil.
func (m *Limiters) For(kind connectors.Kind, s connectors.Settings, grant *uuid.UUID) *Limiter {
	l := &Limiter{limiters: m, key: m.key(kind, s, grant), burst: max(kind.RateLimit.Burst, 1)}
	if kind.RateLimit.PerMinute > 0 {
		l.interval = time.Minute / time.Duration(kind.RateLimit.PerMinute)
	}
	return l
}

// WaitError says that the next request is allowed later than MaxWait from now. It
// is a retryable error of package connectors.
type WaitError struct{ after time.Duration }

func (e *WaitError) Error() string {
	return fmt.Sprintf("the platform takes no further request for %s", e.after.Round(time.Second))
}

// RetryAfter returns the time until the next request is allowed.
func (e *WaitError) RetryAfter() time.Duration { return e.after }

// Wait waits until the next request is allowed. It returns a *[WaitError] if that
// takes longer than MaxWait, and the cause of the context if the context ends.
func (l *Limiter) Wait(ctx context.Context) error {
	wait, err := l.limiters.take(ctx, l, l.limiters.opt.MaxWait)
	switch {
	case err != nil:
		return err
	case wait > l.limiters.opt.MaxWait:
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

// PausedFor returns the rest of a pause, or 0.
func (l *Limiter) PausedFor(ctx context.Context) time.Duration {
	wait, err := l.limiters.pausedFor(ctx, l)
	if err != nil {
		return 0
	}
	return wait
}

// Pause lets no request pass for a time that the platform asked for, at most an
// hour. It does not shorten a pause.
func (l *Limiter) Pause(ctx context.Context, after time.Duration) {
	if after = min(after, maxPause); after <= 0 {
		return
	}
	m := l.limiters
	m.local.pause(l.key, after, m.opt.Now())
	if _, err := m.script(ctx, pauseScript, l.key, after.Milliseconds()); err != nil && ctx.Err() == nil {
		m.failed(err)
	}
}

// take counts a request if it is allowed within maxWait, and returns the time to
// wait.
func (m *Limiters) take(ctx context.Context, l *Limiter, maxWait time.Duration) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	wait, err := m.script(ctx, takeScript, l.key, l.interval.Microseconds(), l.burst, maxWait.Microseconds())
	if err == nil {
		return wait, nil
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	m.failed(err)
	return m.local.take(l, maxWait, m.opt.Now()), nil
}

func (m *Limiters) pausedFor(ctx context.Context, l *Limiter) (time.Duration, error) {
	wait, err := m.script(ctx, pausedScript, l.key)
	if err == nil || ctx.Err() != nil {
		return wait, err
	}
	m.failed(err)
	return m.local.pausedFor(l.key, m.opt.Now()), nil
}

// script runs a script on a key. The result of the script is a time in
// microseconds.
func (m *Limiters) script(ctx context.Context, s *redis.Script, key string, args ...any) (time.Duration, error) {
	if m.redis == nil || m.unavailable() {
		return 0, errUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, m.opt.RedisTimeout)
	defer cancel()
	answer, err := s.Run(ctx, m.redis, []string{prefix + key}, args...).Int64()
	if err != nil {
		return 0, fmt.Errorf("run a limit script: %w", err)
	}
	m.recovered()
	return time.Duration(answer) * time.Microsecond, nil
}
