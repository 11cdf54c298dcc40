package web

import (
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

const (
	// gatePatience is how long a request waits for a process that starts and
	// misses nothing.
	gatePatience = 10 * time.Second
	// gateRetry is when a client may come back that was refused.
	gateRetry = 5 * time.Second
)

// Gate serves a process that is starting. Health is answered at once. Other
// requests wait a moment for the handler that Open gives; once Misses has said
// that a part of the service cannot be reached they are refused with 503.
type Gate struct {
	log     *slog.Logger
	handler atomic.Pointer[http.Handler]

	mu      sync.Mutex
	parts   map[string]string
	changed chan struct{} // closed when requests need not wait any longer
	settled bool
}

// NewGate makes a closed Gate.
func NewGate(log *slog.Logger) *Gate {
	return &Gate{log: log, parts: map[string]string{}, changed: make(chan struct{})}
}

// Misses says that the process waits for the named part.
func (g *Gate) Misses(part string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parts[part] = unavailable
	g.settle()
}

// Open lets all requests through to the handler.
func (g *Gate) Open(handler http.Handler) {
	g.handler.Store(&handler)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settle()
}

func (g *Gate) settle() {
	if !g.settled {
		g.settled = true
		close(g.changed)
	}
}

// ServeHTTP answers a request.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := g.handler.Load()
	health := r.URL.Path == alivePath || r.URL.Path == livePath || r.URL.Path == readyPath
	if handler == nil && !health {
		late := time.NewTimer(gatePatience)
		defer late.Stop()
		select {
		case <-g.changed:
		case <-late.C:
		case <-r.Context().Done():
		}
		handler = g.handler.Load()
	}
	if handler != nil {
		(*handler).ServeHTTP(w, r)
		return
	}
	identified(g.log, nil, http.HandlerFunc(g.closed)).ServeHTTP(w, r)
}

// closed answers while there is no handler.
func (g *Gate) closed(w http.ResponseWriter, r *http.Request) {
	refused := &apierr.Error{Code: apierr.Unavailable, Message: "The server is starting; try again in a moment.", RetryAfter: gateRetry}
	switch r.URL.Path {
	case alivePath, livePath:
		read(w, r, http.HandlerFunc(alive))
	case readyPath:
		read(w, r, http.HandlerFunc(g.unready))
	case graphqlPath:
		writeGraphQLError(w, refused)
	default:
		writeError(w, refused)
	}
}

func (g *Gate) unready(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	parts := maps.Clone(g.parts)
	g.mu.Unlock()
	writeReadiness(w, "starting", parts, nil)
}
