package fresh

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrClosed is returned by a Cache that has been closed.
var ErrClosed = errors.New("the cache is closed")

// Options of a Cache. The zero value is useful.
type Options struct {
	// For is how old an answer may be, counted from the moment before it was
	// asked for; 800 ms when zero.
	For time.Duration
	// Most bounds the entries; 10,000 when zero.
	Most int
	// Patience is how long one load may take; 5 s when zero.
	Patience time.Duration
	// Now is the clock; nil is the system's. One that is set back lengthens the
	// life of the entries of that moment, by For at most.
	Now func() time.Time
}

// Cache answers from memory what a load found a moment ago. Only what was found
// is kept. It owns a goroutine for each load under way; Close ends them.
type Cache[K comparable, V any] struct {
	load func(ctx context.Context, key K) (value V, found bool, err error)
	o    Options

	mu      sync.RWMutex
	entries map[K]entry[V]
	loads   map[K]*load[V] // those that callers may join
	running map[*load[V]]struct{}
	closed  bool
	ended   sync.WaitGroup
}

type entry[V any] struct {
	value V
	began time.Time // of its load
}

// load is one reading that any number of callers wait for. Its result may be
// read once done is closed.
type load[V any] struct {
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{}
	void   bool // what it finds is not kept: a change came in between

	value V
	found bool
	err   error
}

// New makes a cache over load, which must be safe to call from several
// goroutines. The context that load gets has the values of the caller's and
// does not end with it.
func New[K comparable, V any](read func(ctx context.Context, key K) (value V, found bool, err error), o Options) *Cache[K, V] {
	if o.For <= 0 {
		o.For = 800 * time.Millisecond
	}
	if o.Most <= 0 {
		o.Most = 10_000
	}
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
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

// Get is what the key stands for; found is false where there is nothing. The
// answer is that of a load that began less than Options.For before the call. Callers
// that need the same load at the same time share it. An entry past half of its
// time is read anew in the background, so that a key in use is waited for once.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (value V, found bool, err error) {
	now := c.o.Now()
	c.mu.RLock()
	e, ok := c.entries[key]
	c.mu.RUnlock()
	if ok && c.fresh(e.began, now, c.o.For) {
		if !c.fresh(e.began, now, c.o.For/2) {
			c.begin(ctx, key, now, c.o.For/2)
		}
		return e.value, true, nil
	}
	l := c.begin(ctx, key, now, c.o.For)
	select {
	case <-l.done:
		return l.value, l.found, l.err
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
}

// fresh says that a reading that began then may be used now. A small negative
// age is that of a load that began after its caller looked at the clock.
func (c *Cache[K, V]) fresh(began, now time.Time, within time.Duration) bool {
	age := now.Sub(began)
	return age < within && age > -c.o.For
}

// begin gives the load that the caller may wait for: one under way that is
// young enough, what ended a moment ago, else a new one.
func (c *Cache[K, V]) begin(ctx context.Context, key K, now time.Time, within time.Duration) *load[V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.loads[key]; ok && c.fresh(l.began, now, c.o.For) {
		return l
	}
	if e, ok := c.entries[key]; ok && c.fresh(e.began, now, within) {
		return done(load[V]{value: e.value, found: true})
	}
	if c.closed {
		return done(load[V]{err: ErrClosed})
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.Patience)
	l := &load[V]{began: now, cancel: cancel, done: make(chan struct{})}
	c.loads[key], c.running[l] = l, struct{}{}
	c.ended.Add(1)
	go func() {
		defer c.ended.Done()
		defer cancel()
		l.value, l.found, l.err = c.load(reading, key)
		c.end(key, l)
	}()
	return l
}

func done[V any](l load[V]) *load[V] {
	l.done = make(chan struct{})
	close(l.done)
	return &l
}

// end keeps what a load found, unless a later one is there already.
func (c *Cache[K, V]) end(key K, l *load[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	delete(c.running, l)
	if c.loads[key] == l {
		delete(c.loads, key)
	}
	if l.err != nil || l.void {
		return
	}
	e, ok := c.entries[key]
	switch {
	case ok && e.began.After(l.began) && !e.began.After(c.o.Now()): // one of the future is of a clock that was set back since
	case l.found:
		if !ok && len(c.entries) >= c.o.Most {
			c.shrink()
		}
		c.entries[key] = entry[V]{value: l.value, began: l.began}
	default:
		delete(c.entries, key)
	}
}

// shrink makes room: what is too old goes first, then anything, down to nine
// tenths, so that it is rare.
func (c *Cache[K, V]) shrink() {
	now := c.o.Now()
	for key, e := range c.entries {
		if !c.fresh(e.began, now, c.o.For) {
			delete(c.entries, key)
		}
	}
	for key := range c.entries {
		if len(c.entries) < c.o.Most*9/10+1 {
			return
		}
		delete(c.entries, key)
	}
}

// Forget drops the entries whose value matches, and what loads under way find:
// a change on this node binds at once.
func (c *Cache[K, V]) Forget(match func(V) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if match(e.value) {
			delete(c.entries, key)
		}
	}
	for key, l := range c.loads {
		l.void = true
		delete(c.loads, key)
	}
}

// Len is the number of entries, old ones included.
func (c *Cache[K, V]) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries)
}

// Close ends the loads under way and waits for them. Entries are answered until
// they are too old.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	c.closed = true
	for l := range c.running {
		l.cancel()
	}
	c.mu.Unlock()
	c.ended.Wait()
}
