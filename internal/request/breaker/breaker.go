package breaker

import (
	"sync"
	"time"
)

// Options are the settings of a Breaker; the zero value is useful.
type Options struct {
	// Failures in a row that open the circuit; 0 means 3.
	Failures int
	// Pause is how long it stays open; 0 means 30 seconds. Each try that fails
	// doubles it up to MostPause, which is at least Pause.
	Pause, MostPause time.Duration
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Breaker is a circuit: closed while the service works, open while calls are
// refused. It is safe for concurrent use.
type Breaker struct {
	opt Options

	mu      sync.Mutex
	failed  int           // in a row
	until   time.Time     // open until then; zero: closed
	pause   time.Duration // of the next opening
	probing bool          // a call is trying the service after the pause
}

// New makes a closed Breaker.
func New(opt Options) *Breaker {
	if opt.Failures <= 0 {
		opt.Failures = 3
	}
	if opt.Pause <= 0 {
		opt.Pause = 30 * time.Second
	}
	opt.MostPause = max(opt.MostPause, opt.Pause)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Breaker{opt: opt, pause: opt.Pause}
}

// Call is a call that was let through. Exactly one of its methods says how it
// ended; whatever is said after that is not heard. It is used by one goroutine.
type Call struct {
	breaker *Breaker
	probe   bool
	settled bool
}

// Enter lets a call through, or refuses it and says how long the circuit stays
// open, which is 0 while another call is trying the service.
func (b *Breaker) Enter() (call Call, left time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return Call{breaker: b}, 0, true
	}
	left = max(b.until.Sub(b.opt.Now()), 0)
	if left > 0 || b.probing {
		return Call{}, left, false
	}
	b.probing = true
	return Call{breaker: b, probe: true}, 0, true
}

// Succeeded closes the circuit and reports whether it was open.
func (c *Call) Succeeded() (wasOpen bool) {
	if c.settled {
		return false
	}
	c.settled = true
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	wasOpen = !b.until.IsZero()
	b.failed, b.until, b.pause, b.probing = 0, time.Time{}, b.opt.Pause, false
	return wasOpen
}

// Failed counts a failure. Where it opens the circuit, that stays open for the
// returned pause, which is least or more; failures is how many there were in a row.
func (c *Call) Failed(least time.Duration) (pause time.Duration, failures int, opened bool) {
	return c.fail(least, 1)
}

// Hung is a failure that opens the circuit by itself: each further call would
// wait as long as this one did.
func (c *Call) Hung() (pause time.Duration, failures int, opened bool) {
	return c.fail(0, c.breaker.opt.Failures)
}

func (c *Call) fail(least time.Duration, weight int) (pause time.Duration, failures int, opened bool) {
	if c.settled {
		return 0, 0, false
	}
	c.settled = true
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed++
	if !c.probe && b.failed < b.opt.Failures && weight < b.opt.Failures {
		return 0, b.failed, false
	}
	if c.probe {
		b.pause = min(2*b.pause, b.opt.MostPause)
		b.probing = false
	}
	pause = max(b.pause, least)
	b.until = b.opt.Now().Add(pause)
	return pause, b.failed, true
}

// GivenUp ends a call that says nothing about the service, as when the caller
// went away. It is the way to defer the end of a call.
func (c *Call) GivenUp() {
	if c.settled || c.breaker == nil {
		return
	}
	c.settled = true
	if !c.probe {
		return
	}
	b := c.breaker
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}
