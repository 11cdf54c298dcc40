package httpx

import (
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// Watch returns a request whose connection is watched. begun reports whether a connection
// was there for it: if not, its server has seen nothing of a request that failed.
func Watch(r *http.Request) (watched *http.Request, begun func() bool) {
	var got atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { got.Store(true) }}
	return r.WithContext(httptrace.WithClientTrace(r.Context(), trace)), got.Load
}
