package ttlcache

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is returned by Get for a value that a closed Cache would have to load.
var ErrClosed = errors.New("the cache is closed")

// Options configure a Cache. The zero value is useful.
type Options struct {
	MaxAge      time.Duration // of a value, from the start of its load; 0 means 800 ms
	MaxEntries  int           // 0 means 10,000
	LoadTimeout time.Duration // 0 means 5 s
	// Now is the clock; nil means time.Now. If it is set back, the values of that
	// moment live longer, by MaxAge at most.
	Now func() time.Time
}

// A Cache keeps the values that its load function finds. It does not keep the
// absence of a value, and no errors. It is safe for concurrent use and owns a
// goroutine for each load; Close ends them.
type Cache[K comparable, V any] struct {
	load LoadFunc[K, V]
	o    Options

	mu      sync.RWMutex
	entries map[K]entry[V]
	loads   map[K]*load[V] // that callers may join
	running map[*load[V]]struct{}
	closed  bool
	wait    sync.WaitGroup
}

// A LoadFunc reads the value of a key. It must be safe for concurrent use. Its
// context has the values of the caller's context, but not its end.
type LoadFunc[K comparable, V any] func(ctx context.Context, key K) (value V, found bool, err error)

type entry[V any] struct {
	value V
	began time.Time // of the load
}

// A load is a call of the load function. Its result may be read once done is
// closed.
type load[V any] struct {
	began       time.Time
	cancel      context.CancelFunc
	done        chan struct{}
	invalidated bool // the value may be out of date, so that it is not kept

	value V
	found bool
	err   error
}

// New returns a Cache of the values that load reads.
func New[K comparable, V any](read LoadFunc[K, V], o Options) *Cache[K, V] {
	if o.MaxAge <= 0 {
		o.MaxAge = 800 * time.Millisecond
	}
	if o.MaxEntries <= 0 {
		o.MaxEntries = 10_000
	}
	if o.LoadTimeout <= 0 {
		o.LoadTimeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Cache[K, V]{
		load: read, o: o,
		entries: map[K]entry[V]{}, loads: map[K]*load[V]{},
		running: map[*load[V]]struct{}{},
	}
}

// Get returns the value of a key; found is false if there is none. The load of the
// value began less than MaxAge before the call. Concurrent callers share a load. A
// value older than half of MaxAge is loaded again in the background, so that callers
// wait for a key in constant use only once.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (value V, found bool, err error) {
	now := c.o.Now()
	c.mu.RLock()
	e, ok := c.entries[key]
	c.mu.RUnlock()
	if ok && c.youngerThan(c.o.MaxAge, e.began, now) {
		if !c.youngerThan(c.o.MaxAge/2, e.began, now) {
			c.begin(ctx, key, now, c.o.MaxAge/2)
		}
		return e.value, true, nil
	}
	l := c.begin(ctx, key, now, c.o.MaxAge)
	select {
	case <-l.done:
		return l.value, l.found, l.err
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
}

// youngerThan reports whether a load that began at began is younger than age. A
// small negative age belongs to a load that began after its caller read the clock.
func (c *Cache[K, V]) youngerThan(age time.Duration, began, now time.Time) bool {
	actual := now.Sub(began)
	return actual < age && actual > -c.o.MaxAge
}

// begin returns a load to wait for: one that runs and is young enough, one that
// ended meanwhile with a value younger than age, or a new one.
func (c *Cache[K, V]) begin(ctx context.Context, key K, now time.Time, age time.Duration) *load[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.loads[key]; ok && c.youngerThan(c.o.MaxAge, l.began, now) {
		return l
	}
	if e, ok := c.entries[key]; ok && c.youngerThan(age, e.began, now) {
		return ended(load[V]{value: e.value, found: true})
	}
	if c.closed {
		return ended(load[V]{err: ErrClosed})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.LoadTimeout)
	l := &load[V]{began: now, cancel: cancel, done: make(chan struct{})}
	c.loads[key], c.running[l] = l, struct{}{}
	c.wait.Go(func() {
		defer cancel()
		l.value, l.found, l.err = c.load(ctx, key)
		c.end(key, l)
	})
	return l
}

func ended[V any](l load[V]) *load[V] {
	l.done = make(chan struct{})
	close(l.done)
	return &l
}

// end keeps the value of a load, unless a later load has ended before.
func (c *Cache[K, V]) end(key K, l *load[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	delete(c.running, l)
	if c.loads[key] == l {
		delete(c.loads, key)
	}
	if l.err != nil || l.invalidated {
		return
	}
	e, ok := c.entries[key]
	switch {
	case ok && e.began.After(l.began) && !e.began.After(c.o.Now()):
		// e is newer. A load that began in the future is not: the clock was set back.
	case l.found:
		if !ok && len(c.entries) >= c.o.MaxEntries {
			c.shrink()
		}
		c.entries[key] = entry[V]{value: l.value, began: l.began}
	default:
		delete(c.entries, key)
	}
}

// shrink deletes entries that are too old and then any others, until nine tenths of
// the limit are left.
func (c *Cache[K, V]) shrink() {
	now := c.o.Now()
	for key, e := range c.entries {
		if !c.youngerThan(c.o.MaxAge, e.began, now) {
			delete(c.entries, key)
		}
	}
	for key := range c.entries {
		if len(c.entries) < c.o.MaxEntries*9/10+1 {
			return
		}
		delete(c.entries, key)
	}
}

// Invalidate deletes the values that match, and keeps no value of a load that is
// running, so that a change on this node takes effect at once.
func (c *Cache[K, V]) Invalidate(match func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if match(e.value) {
			delete(c.entries, key)
		}
	}
	for key, l := range c.loads {
		l.invalidated = true
		delete(c.loads, key)
	}
}

// Len returns the number of values, including those that are too old.
func (c *Cache[K, V]) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries)
}

// Close cancels running loads and waits for them. Get still returns values that are
// young enough.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	for l := range c.running {
		l.cancel()
	}
	c.mu.Unlock()
	c.wait.Wait()
}
