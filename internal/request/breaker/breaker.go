package breaker

import (
	"sync"
	"time"
)

// Options configures a Breaker. The zero value is useful.
type Options struct {
	// Failures is the number of consecutive failures that open the circuit; 0 means 3.
	Failures int
	// Pause is the time that the circuit stays open; 0 means 30 seconds. Each failed
	// probe doubles it up to MaxPause, which is at least Pause.
	Pause, MaxPause time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// A Breaker is a circuit breaker: closed while the service works, open while it
// refuses calls. It is safe for concurrent use.
type Breaker struct {
	opt Options

	mu       sync.Mutex
	failures int           // consecutive ones
	until    time.Time     // the end of the open state; zero: closed
	pause    time.Duration // of the next opening
	probing  bool          // a probe runs
}

// New returns a closed Breaker.
func New(opt Options) *Breaker {
	if opt.Failures <= 0 {
		opt.Failures = 3
	}
	if opt.Pause <= 0 {
		opt.Pause = 30 * time.Second
	}
	opt.MaxPause = max(opt.MaxPause, opt.Pause)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Breaker{opt: opt, pause: opt.Pause}
}

// A Call is an admitted call. The first of its methods that is called reports its
// outcome; later calls have no effect. A Call is for one goroutine.
type Call struct {
	breaker *Breaker
	probe   bool
	done    bool
}

// Allow admits a call, or refuses it and returns the time until the next probe,
// which is 0 while a probe runs.
func (b *Breaker) Allow() (call Call, wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return Call{breaker: b}, 0, true
	}
	wait = max(b.until.Sub(b.opt.Now()), 0)
	if wait > 0 || b.probing {
		return Call{}, wait, false
	}
	b.probing = true
	return Call{breaker: b, probe: true}, 0, true
}

// IsOpen reports whether the circuit is open.
func (b *Breaker) IsOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.until.IsZero()
}

// Succeed closes the circuit and reports whether it was open.
func (c *Call) Succeed() (wasOpen bool) {
	if c.done {
		return false
	}
	c.done = true
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	wasOpen = !b.until.IsZero()
	b.failures, b.until, b.pause, b.probing = 0, time.Time{}, b.opt.Pause, false
	return wasOpen
}

// Fail counts a failure. It reports whether the failure opened the circuit, for how
// long (at least minPause), and the number of consecutive failures.
func (c *Call) Fail(minPause time.Duration) (pause time.Duration, failures int, opened bool) {
	return c.fail(minPause, 1)
}

// Timeout counts a timeout, which opens the circuit at once: each further call would
// wait as long.
func (c *Call) Timeout() (pause time.Duration, failures int, opened bool) {
	return c.fail(0, c.breaker.opt.Failures)
}

func (c *Call) fail(minPause time.Duration, weight int) (pause time.Duration, failures int, opened bool) {
	if c.done {
		return 0, 0, false
	}
	c.done = true
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	if !c.probe && b.failures < b.opt.Failures && weight < b.opt.Failures {
		return 0, b.failures, false
	}
	if c.probe {
		b.pause = min(2*b.pause, b.opt.MaxPause)
		b.probing = false
	}
	pause = max(b.pause, minPause)
	b.until = b.opt.Now().Add(pause)
	return pause, b.failures, true
}

// Abandon ends a call without an outcome, for example when the caller has gone. It
// is meant to be deferred.
func (c *Call) Abandon() {
	if c.done || c.breaker == nil {
		return
	}
	c.done = true
	if !c.probe {
		return
	}
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}
