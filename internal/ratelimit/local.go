package ratelimit

import (
	"math"
	"sync"
	"time"
)

// local counts in this process. For each key it keeps the theoretical arrival
// time of the generic cell rate algorithm; a key whose time has passed stands
// at its full limit and needs no entry.
type local struct {
	mu   sync.Mutex
	tat  map[string]time.Time
	most int
}

func newLocal(most int) *local {
	return &local{tat: make(map[string]time.Time), most: most}
}

// take counts n requests against a limit of most in a period; fewer than none
// gives requests back.
func (l *local) take(key string, most int, period time.Duration, n int, now time.Time) Result {
	interval := max(period/time.Duration(most), 1)
	burst := interval * time.Duration(most)
	l.mu.Lock()
	defer l.mu.Unlock()
	tat := l.tat[key]
	if tat.Before(now) {
		tat = now
	}
	next := tat.Add(interval * time.Duration(n))
	room := now.Sub(next.Add(-burst)) // what the bucket holds after this request
	if room < 0 {
		return Result{Limit: most, Reset: tat, RetryAfter: -room}
	}
	if next.After(now) {
		l.store(key, next, now)
	} else if n < 0 {
		delete(l.tat, key)
	}
	remaining := int(math.Min(float64(room/interval), float64(most)))
	return Result{Allowed: true, Limit: most, Remaining: remaining, Reset: next}
}

func (l *local) forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.tat, key)
}

// store keeps the map within its bound: entries at their full limit go first,
// then any, because a caller with endless addresses must not take all memory.
func (l *local) store(key string, tat, now time.Time) {
	if _, known := l.tat[key]; !known && len(l.tat) >= l.most {
		for k, t := range l.tat {
			if !t.After(now) {
				delete(l.tat, k)
			}
		}
		for k := range l.tat {
			if len(l.tat) < l.most*9/10+1 {
				break
			}
			delete(l.tat, k)
		}
	}
	l.tat[key] = tat
}
