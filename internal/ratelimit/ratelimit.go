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

// Result is the standing of one key.
type Result struct {
	Allowed    bool
	Limit      int           // requests a minute; 0 for no limit
	Remaining  int           // requests that would be allowed at once
	Reset      time.Time     // when all of Limit is there again
	RetryAfter time.Duration // when the next request will be allowed; 0 when this one was
}

// Options of a Limiter. The zero value counts in this process only.
type Options struct {
	// Redis holds the shared counts; nil counts in this process only. A client
	// of a cluster needs ContextTimeoutEnabled for Patience to bind.
	Redis redis.UniversalClient
	// Prefix stands before every key in Redis; "magpie:" when empty.
	Prefix string
	// Patience is how long Redis may take to answer; 250 ms when zero.
	Patience time.Duration
	// RetryEvery is how long Redis is left alone after it failed; 1 s when zero.
	RetryEvery time.Duration
	// MaxLocal bounds the keys that are counted in this process; 100,000 when zero.
	MaxLocal int
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // nil: the system's clock
}

// Limiter counts requests a key and minute by the generic cell rate algorithm:
// a full minute's worth may come at once, and comes back evenly.
type Limiter struct {
	shared   *redis_rate.Limiter // nil: none
	prefix   string
	patience time.Duration
	local    *local
	log      *slog.Logger
	now      func() time.Time

	circuit *breaker.Breaker // open while Redis is not asked

	mu   sync.Mutex
	away bool // which has been logged
}

// New makes a limiter. It opens and starts nothing.
func New(o Options) *Limiter {
	l := &Limiter{prefix: o.Prefix, patience: o.Patience, log: o.Log, now: o.Now}
	if l.prefix == "" {
		l.prefix = "magpie:"
	}
	if l.patience <= 0 {
		l.patience = 250 * time.Millisecond
	}
	switch client := o.Redis.(type) {
	case nil:
	case *redis.Client:
		// By default the client waits for answers by its own clock, whatever the context says.
		l.shared = redis_rate.NewLimiter(client.WithTimeout(l.patience))
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

// Allow counts one request of key against perMinute and says whether it may
// pass. A refused request is not counted. Zero or less is no limit. The only
// error is that of an ended context.
func (l *Limiter) Allow(ctx context.Context, key string, perMinute int) (Result, error) {
	return l.take(ctx, key, perMinute, 1)
}

// Peek is the standing of key without counting anything; its Allowed says
// nothing about the next request when Remaining is 0.
func (l *Limiter) Peek(ctx context.Context, key string, perMinute int) (Result, error) {
	return l.take(ctx, key, perMinute, 0)
}

// Forget gives key its full limit back, as when nothing had been counted.
func (l *Limiter) Forget(ctx context.Context, key string) {
	l.local.forget(key)
	if l.shared == nil {
		return
	}
	call, _, ok := l.circuit.Enter()
	if !ok {
		return
	}
	defer call.GivenUp()
	asking, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	switch err := l.shared.Reset(asking, l.prefix+key); {
	case err == nil:
		l.found(&call)
	case ctx.Err() == nil:
		l.lost(&call, err)
	}
}

// AllowIn is Allow for a limit of most requests in a period.
func (l *Limiter) AllowIn(ctx context.Context, key string, most int, period time.Duration) (Result, error) {
	return l.takeIn(ctx, key, most, period, 1)
}

// PeekIn is Peek for a limit of most requests in a period.
func (l *Limiter) PeekIn(ctx context.Context, key string, most int, period time.Duration) (Result, error) {
	return l.takeIn(ctx, key, most, period, 0)
}

// ReturnIn gives one request back that AllowIn counted.
func (l *Limiter) ReturnIn(ctx context.Context, key string, most int, period time.Duration) {
	_, _ = l.takeIn(ctx, key, most, period, -1) // of no consequence: it would have come back by itself
}

// Once allows what a key names once in a period: on this node whatever becomes
// of the shared store, and on all nodes while that answers. Again takes it back.
func (l *Limiter) Once(ctx context.Context, key string, period time.Duration) (bool, error) {
	if here := l.local.take(onceHere+key, 1, period, 1, l.now()); !here.Allowed {
		return false, nil
	}
	everywhere, err := l.takeIn(ctx, key, 1, period, 1)
	return everywhere.Allowed, err
}

// Again lets what a key names be allowed once more.
func (l *Limiter) Again(ctx context.Context, key string, period time.Duration) {
	l.local.forget(onceHere + key)
	l.ReturnIn(ctx, key, 1, period)
}

// onceHere keeps what a node remembers by itself apart from what it counts in
// place of the shared store.
const onceHere = "here:"

func (l *Limiter) take(ctx context.Context, key string, perMinute, n int) (Result, error) {
	return l.takeIn(ctx, key, perMinute, time.Minute, n)
}

func (l *Limiter) takeIn(ctx context.Context, key string, most int, period time.Duration, n int) (Result, error) {
	now := l.now()
	if most <= 0 {
		return Result{Allowed: true, Reset: now}, nil
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if l.shared == nil {
		return l.local.take(key, most, period, n, now), nil
	}
	call, _, ok := l.circuit.Enter()
	if !ok {
		return l.local.take(key, most, period, n, now), nil
	}
	defer call.GivenUp()
	asking, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	r, err := l.shared.AllowN(asking, l.prefix+key, redis_rate.Limit{Rate: most, Burst: most, Period: period}, n)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		l.lost(&call, err)
		return l.local.take(key, most, period, n, now), nil
	}
	l.found(&call)
	if n < 0 && r.ResetAfter <= 0 {
		l.Forget(ctx, key) // the script leaves the last one standing
	}
	return Result{
		Allowed: r.Allowed >= n, Limit: most, Remaining: remaining(most, period, max(r.ResetAfter, 0)),
		Reset: now.Add(max(r.ResetAfter, 0)), RetryAfter: max(r.RetryAfter, 0),
	}, nil
}

// remaining is how many requests fit into what is left of the minute. The
// script's own figure is cut off after it was rounded, and often one too low.
func remaining(most int, period, resetAfter time.Duration) int {
	interval := max(period/time.Duration(most), 1)
	left := interval*time.Duration(most) - resetAfter + min(10*time.Microsecond, interval/2)
	return min(max(int(left/interval), 0), most)
}

// lost notes that Redis did not answer. For a while it is not asked; then one
// request tries it, and the others go on without.
func (l *Limiter) lost(call *breaker.Call, err error) {
	call.Failed(0)
	l.mu.Lock()
	first := !l.away
	l.away = true
	l.mu.Unlock()
	if first {
		l.log.Warn("rate limits: Redis does not answer; counting in this process", slog.Any("error", err))
	}
}

func (l *Limiter) found(call *breaker.Call) {
	call.Succeeded()
	l.mu.Lock()
	back := l.away
	l.away = false
	l.mu.Unlock()
	if back {
		l.log.Info("rate limits: Redis answers again")
	}
}
