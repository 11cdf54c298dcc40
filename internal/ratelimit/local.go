package ratelimit

import (
	"math"
	"sync"
	"time"
)

// local counts in this process. It has the theoretical arrival time (TAT) of the
// generic cell rate algorithm for each key. A key without an entry, or with a TAT in
// the past, has its full limit.
type local struct {
	mu      sync.Mutex
	tat     map[string]time.Time
	maxKeys int
}

func newLocal(maxKeys int) *local {
	return &local{tat: make(map[string]time.Time), maxKeys: maxKeys}
}

// take counts n requests against a limit per period. A negative n refunds requests.
func (l *local) take(key string, limit int, period time.Duration, n int, now time.Time) Result {
	interval := max(period/time.Duration(limit), 1)
	burst := interval * time.Duration(limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	tat := l.tat[key]
	if tat.Before(now) {
		tat = now
	}
	next := tat.Add(interval * time.Duration(n))
	room := now.Sub(next.Add(-burst)) // after this request
	if room < 0 {
		return Result{Limit: limit, Reset: tat, RetryAfter: -room}
	}
	if next.After(now) {
		l.store(key, next, now)
	} else if n < 0 {
		delete(l.tat, key)
	}
	remaining := int(math.Min(float64(room/interval), float64(limit)))
	return Result{Allowed: true, Limit: limit, Remaining: remaining, Reset: next}
}

func (l *local) reset(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tat, key)
}

// store sets the TAT of a key. It keeps the map within its bound, against callers
// with endless addresses: it drops keys with their full limit first, then any.
func (l *local) store(key string, tat, now time.Time) {
	if _, known := l.tat[key]; !known && len(l.tat) >= l.maxKeys {
		for k, t := range l.tat {
			if !t.After(now) {
				delete(l.tat, k)
			}
		}
		for k := range l.tat {
			if len(l.tat) < l.maxKeys*9/10+1 {
				break
			}
			delete(l.tat, k)
		}
	}
	l.tat[key] = tat
}
