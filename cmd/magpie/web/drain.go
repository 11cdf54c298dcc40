package web

import (
	"net/http"
	"sync/atomic"
)

// Drain is the draining state of a process. A draining process still serves, but
// /readyz answers 503 and every response closes its connection, so that clients use
// other processes. The zero value does not drain. It is safe for concurrent use.
type Drain struct{ draining atomic.Bool }

// Begin starts draining. It may be called again.
func (d *Drain) Begin() { d.draining.Store(true) }

// Draining reports whether Begin was called. It is false for a nil Drain.
func (d *Drain) Draining() bool { return d != nil && d.draining.Load() }

// closeConnection makes a response close the connection while draining, so that the
// client opens another one for its next request.
func (d *Drain) closeConnection(h http.Header) {
	if d.Draining() {
		h.Set("Connection", "close")
	}
}
