package web

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
)

// WorkerOptions configures the handler of a worker. All fields are required.
type WorkerOptions struct {
	// Ready has the readiness checks by the name of the checked part.
	Ready map[string]func(context.Context) error
	// Drain is begun when the worker accepts no more tasks.
	Drain *Drain
	// Metrics are available to MetricsNetworks.
	Metrics         *metrics.Metrics
	MetricsNetworks config.Networks
	Log             *slog.Logger
}

// NewWorker returns the handler of a worker: health and metrics.
func NewWorker(o WorkerOptions) http.Handler {
	probe := newProbes(o)
	return withRequestID(o.Log, AccessLog{}, Traces{}, o.Drain, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if probe.serves(r.URL.Path) {
			probe.ServeHTTP(w, r)
			return
		}
		writeError(w, apierr.NotFound("Page"))
	}))
}

// probes are the handlers that tell how a process is, by path: health and metrics.
type probes map[string]http.Handler

func newProbes(o WorkerOptions) probes {
	return probes{
		alivePath: http.HandlerFunc(alive), livePath: http.HandlerFunc(alive),
		readyPath:   readiness(o.Ready, o.Drain, o.Log),
		metricsPath: onlyFrom(o.MetricsNetworks, o.Metrics.Handler()),
	}
}

func (p probes) serves(path string) bool { return p[path] != nil }

// ServeHTTP implements [http.Handler] for the paths that p serves.
func (p probes) ServeHTTP(w http.ResponseWriter, r *http.Request) { readOnly(w, r, p[r.URL.Path]) }
