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
	// gateTimeout is the time that a request waits for the start of the process.
	gateTimeout = 10 * time.Second
	// gateRetry is the Retry-After of rejected requests.
	gateRetry = 5 * time.Second
)

// Gate is the handler of a starting process. It answers health checks immediately.
// Other requests wait for a short time until Open sets the handler. After Misses has
// reported an unavailable part, they are rejected with 503.
type Gate struct {
	log     *slog.Logger
	access  AccessLog
	handler atomic.Pointer[http.Handler]

	mu      sync.Mutex
	parts   map[string]string
	changed chan struct{} // closed when requests must not wait any more
	settled bool
}

// NewGate returns a closed Gate.
func NewGate(log *slog.Logger, access AccessLog) *Gate {
	return &Gate{log: log, access: access, parts: map[string]string{}, changed: make(chan struct{})}
}

// Misses reports that the process waits for a part.
func (g *Gate) Misses(part string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parts[part] = unavailable
	g.settle()
}

// Open passes all requests to a handler.
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

// ServeHTTP implements [http.Handler].
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := g.handler.Load()
	health := r.URL.Path == alivePath || r.URL.Path == livePath || r.URL.Path == readyPath
	if handler == nil && !health {
		timeout := time.NewTimer(gateTimeout)
		defer timeout.Stop()
		select {
		case <-g.changed:
		case <-timeout.C:
		case <-r.Context().Done():
		}
		handler = g.handler.Load()
	}
	if handler != nil {
		(*handler).ServeHTTP(w, r)
		return
	}
	withRequestID(g.log, g.access, Traces{}, nil, http.HandlerFunc(g.closed)).ServeHTTP(w, r)
}

// closed serves requests without a handler.
func (g *Gate) closed(w http.ResponseWriter, r *http.Request) {
	err := &apierr.Error{Code: apierr.Unavailable, Message: "The server is starting; try again in a moment.", RetryAfter: gateRetry}
	switch r.URL.Path {
	case alivePath, livePath:
		readOnly(w, r, http.HandlerFunc(alive))
	case readyPath:
		readOnly(w, r, http.HandlerFunc(g.unready))
	case graphqlPath:
		writeGraphQLError(w, err)
	default:
		writeError(w, err)
	}
}

func (g *Gate) unready(w http.ResponseWriter, _ *http.Request) {
	g.mu.Lock()
	parts := maps.Clone(g.parts)
	g.mu.Unlock()
	writeReadiness(w, "starting", parts, nil)
}
