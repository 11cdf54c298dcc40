package ratelimit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/request/breaker"
)

// A Result is the state of a key.
type Result struct {
	Allowed    bool
	Limit      int           // requests per period; 0 for no limit
	Remaining  int           // requests that are allowed now
	Reset      time.Time     // when the key has its full limit
	RetryAfter time.Duration // time to the next allowed request; 0 if this one is allowed
}

// Options configures a Limiter. The zero value counts in this process only.
type Options struct {
	// Redis has the shared counts; nil counts in this process only. A client of a
	// cluster needs ContextTimeoutEnabled for Timeout to apply.
	Redis redis.UniversalClient
	// Prefix is the prefix of every key in Redis; "magpie:" when empty.
	Prefix string
	// Timeout bounds a request to Redis; 250 ms when zero.
	Timeout time.Duration
	// RetryEvery is the time without requests to Redis after a failure; 1 s when zero.
	RetryEvery time.Duration
	// MaxLocal bounds the keys that this process counts; 100,000 when zero.
	MaxLocal int
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // nil: the system's clock
}

// A Limiter counts requests per key with the generic cell rate algorithm: the full
// limit may be used at once, and is refilled evenly.
type Limiter struct {
	shared  *redis_rate.Limiter // nil: none
	prefix  string
	timeout time.Duration
	local   *local
	log     *slog.Logger
	now     func() time.Time

	circuit *breaker.Breaker // open while Redis fails

	mu     sync.Mutex
	isDown bool // Redis; logged
}

// New returns a limiter. It starts no goroutine and opens no connection.
func New(o Options) *Limiter {
	l := &Limiter{prefix: o.Prefix, timeout: o.Timeout, log: o.Log, now: o.Now}
	if l.prefix == "" {
		l.prefix = "magpie:"
	}
	if l.timeout <= 0 {
		l.timeout = 250 * time.Millisecond
	}
	switch client := o.Redis.(type) {
	case nil:
	case *redis.Client:
		// By default the client ignores the deadline of the context while it reads.
		l.shared = redis_rate.NewLimiter(client.WithTimeout(l.timeout))
	default:
		l.shared = redis_rate.NewLimiter(client)
	}
	if o.RetryEvery <= 0 {
		o.RetryEvery = time.Second
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.now == nil {
		l.now = time.Now
	}
	l.circuit = breaker.New(breaker.Options{Failures: 1, Pause: o.RetryEvery, Now: l.now})
	if o.MaxLocal <= 0 {
		o.MaxLocal = 100_000
	}
	l.local = newLocal(o.MaxLocal)
	return l
}

// Allow counts a request of key against a limit per minute and returns whether it is
// allowed. It does not count a refused request. A limit of zero or less is no limit.
// The only error is that of an ended context.
func (l *Limiter) Allow(ctx context.Context, key string, perMinute int) (Result, error) {
	return l.take(ctx, key, perMinute, 1)
}

// Peek returns the state of key without counting. Its Allowed has no meaning when
// Remaining is 0.
func (l *Limiter) Peek(ctx context.Context, key string, perMinute int) (Result, error) {
	return l.take(ctx, key, perMinute, 0)
}

// Reset gives key its full limit.
func (l *Limiter) Reset(ctx context.Context, key string) {
	l.local.reset(key)
	if l.shared == nil {
		return
	}
	call, _, ok := l.circuit.Allow()
	if !ok {
		return
	}
	defer call.Abandon()
	redisCtx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	switch err := l.shared.Reset(redisCtx, l.prefix+key); {
	case err == nil:
		l.recordSuccess(&call)
	case ctx.Err() == nil:
		l.recordFailure(&call, err)
	}
}

// AllowIn is like Allow for a limit per period.
func (l *Limiter) AllowIn(ctx context.Context, key string, limit int, period time.Duration) (Result, error) {
	return l.takeIn(ctx, key, limit, period, 1)
}

// PeekIn is like Peek for a limit per period.
func (l *Limiter) PeekIn(ctx context.Context, key string, limit int, period time.Duration) (Result, error) {
	return l.takeIn(ctx, key, limit, period, 0)
}

// RefundIn refunds a request that AllowIn counted.
func (l *Limiter) RefundIn(ctx context.Context, key string, limit int, period time.Duration) {
	_, _ = l.takeIn(ctx, key, limit, period, -1) // a lost refund comes back with the refill
}

// AllowOnce allows a key once per period: on this node always, and on all nodes while
// Redis answers. ResetOnce undoes it.
func (l *Limiter) AllowOnce(ctx context.Context, key string, period time.Duration) (bool, error) {
	if node := l.local.take(oncePrefix+key, 1, period, 1, l.now()); !node.Allowed {
		return false, nil
	}
	shared, err := l.takeIn(ctx, key, 1, period, 1)
	return shared.Allowed, err
}

// ResetOnce lets AllowOnce allow a key again.
func (l *Limiter) ResetOnce(ctx context.Context, key string, period time.Duration) {
	l.local.reset(oncePrefix + key)
	l.RefundIn(ctx, key, 1, period)
}

// oncePrefix separates the node's own keys of AllowOnce from those that it counts in
// place of Redis.
const oncePrefix = "here:"

func (l *Limiter) take(ctx context.Context, key string, perMinute, n int) (Result, error) {
	return l.takeIn(ctx, key, perMinute, time.Minute, n)
}

func (l *Limiter) takeIn(ctx context.Context, key string, limit int, period time.Duration, n int) (Result, error) {
	now := l.now()
	if limit <= 0 {
		return Result{Allowed: true, Reset: now}, nil
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if l.shared == nil {
		return l.local.take(key, limit, period, n, now), nil
	}
	call, _, ok := l.circuit.Allow()
	if !ok {
		return l.local.take(key, limit, period, n, now), nil
	}
	defer call.Abandon()
	redisCtx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	r, err := l.shared.AllowN(redisCtx, l.prefix+key, redis_rate.Limit{Rate: limit, Burst: limit, Period: period}, n)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		l.recordFailure(&call, err)
		return l.local.take(key, limit, period, n, now), nil
	}
	l.recordSuccess(&call)
	if n < 0 && r.ResetAfter <= 0 {
		l.Reset(ctx, key) // the script keeps a key that has its full limit
	}
	return Result{
		Allowed: r.Allowed >= n, Limit: limit, Remaining: remaining(limit, period, max(r.ResetAfter, 0)),
		Reset: now.Add(max(r.ResetAfter, 0)), RetryAfter: max(r.RetryAfter, 0),
	}, nil
}

// remaining returns the number of requests that fit into the rest of a period. The
// figure of the script is truncated after rounding, and often one too low.
func remaining(limit int, period, resetAfter time.Duration) int {
	interval := max(period/time.Duration(limit), 1)
	rest := interval*time.Duration(limit) - resetAfter + min(10*time.Microsecond, interval/2)
	return min(max(int(rest/interval), 0), limit)
}

// recordFailure opens the circuit after a failure of Redis and logs the first one.
func (l *Limiter) recordFailure(call *breaker.Call, err error) {
	call.Fail(0)
	l.mu.Lock()
	first := !l.isDown
	l.isDown = true
	l.mu.Unlock()
	if first {
		l.log.Warn("rate limiter lost redis, counting locally", slog.Any("error", err))
	}
}

// recordSuccess closes the circuit and logs that Redis is back.
func (l *Limiter) recordSuccess(call *breaker.Call) {
	call.Succeed()
	l.mu.Lock()
	wasDown := l.isDown
	l.isDown = false
	l.mu.Unlock()
	if wasDown {
		l.log.Info("rate limiter has redis again")
	}
}
