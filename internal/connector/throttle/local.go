package throttle

import (
	"sync"
	"time"
)

// limit is the state of a limiter. The scripts explain the fields.
type limit struct{ at, until time.Time }

// local has the limits of this process.
type local struct {
	mu     sync.Mutex
	limits map[string]limit
}

func (l *local) take(limiter *Limiter, maxWait time.Duration, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.limits[limiter.key]
	at, free := latest(state.at, now), latest(state.until, now)
	wait := latest(at.Add(-time.Duration(limiter.burst-1)*limiter.interval), free).Sub(now)
	if wait <= maxWait && limiter.interval > 0 {
		state.at = latest(at, free).Add(limiter.interval)
		l.keep(limiter.key, state, now)
	}
	return wait
}

func (l *local) pause(key string, after time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.limits[key]
	state.until = latest(state.until, now.Add(after))
	l.keep(key, state, now)
}

func (l *local) pausedFor(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.limits[key].until.Sub(now), 0)
}

// keep stores a limit. If there are too many limits, it deletes those that have
// ended, and then others.
func (l *local) keep(key string, s limit, now time.Time) {
	if _, exists := l.limits[key]; !exists && len(l.limits) >= maxLocalLimits {
		for k, old := range l.limits {
			if !old.at.After(now) && !old.until.After(now) {
				delete(l.limits, k)
			}
		}
		for k := range l.limits {
			if len(l.limits) < maxLocalLimits {
				break
			}
			delete(l.limits, k)
		}
	}
	l.limits[key] = s
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
