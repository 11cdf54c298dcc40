package pace

import (
	"sync"
	"time"
)

// standing is what a line keeps: see the scripts.
type standing struct{ at, until time.Time }

// local does in this process what the scripts do in Redis.
type local struct {
	mu    sync.Mutex
	lines map[string]standing
}

func (l *local) turn(line *Line, longest time.Duration, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.lines[line.key]
	at, free := latest(kept.at, now), latest(kept.until, now)
	wait := latest(at.Add(-time.Duration(line.burst-1)*line.interval), free).Sub(now)
	if wait <= longest && line.interval > 0 {
		kept.at = latest(at, free).Add(line.interval)
		l.keep(line.key, kept, now)
	}
	return wait
}

func (l *local) hold(key string, after time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.lines[key]
	kept.until = latest(kept.until, now.Add(after))
	l.keep(key, kept, now)
}

func (l *local) held(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.lines[key].until.Sub(now), 0)
}

// keep forgets what is over before the map grows beyond its bound, and then any.
func (l *local) keep(key string, s standing, now time.Time) {
	if _, known := l.lines[key]; !known && len(l.lines) >= maxLocal {
		for k, old := range l.lines {
			if !old.at.After(now) && !old.until.After(now) {
				delete(l.lines, k)
			}
		}
		for k := range l.lines {
			if len(l.lines) < maxLocal {
				break
			}
			delete(l.lines, k)
		}
	}
	l.lines[key] = s
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
