package web

import (
	"net/http"
	"sync/atomic"
)

// Drain says whether a process is about to stop. Before it does, it goes on to
// serve for a while and sends its clients elsewhere: /readyz is 503, and every
// answer ends its connection. The zero value does not drain. It is safe for
// concurrent use.
type Drain struct{ begun atomic.Bool }

// Begin begins to drain. It may be called again.
func (d *Drain) Begin() { d.begun.Store(true) }

// Begun reports whether Begin was called; never for a nil Drain.
func (d *Drain) Begun() bool { return d != nil && d.begun.Load() }

// dismiss lets the connection end with an answer of HTTP/1 that is about to be
// written: a client that was told so does not send its next request there. An
// upgrade has a header of that name for itself.
func (d *Drain) dismiss(h http.Header) {
	if d.Begun() {
		h.Set("Connection", "close")
	}
}
