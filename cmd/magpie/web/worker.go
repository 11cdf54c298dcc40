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
	read := onlyFrom(o.MetricsNetworks, o.Metrics.Handler())
	ready := readiness(o.Ready, o.Drain, o.Log)
	return withRequestID(o.Log, o.Drain, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case alivePath, livePath:
			readOnly(w, r, http.HandlerFunc(alive))
		case readyPath:
			readOnly(w, r, ready)
		case metricsPath:
			readOnly(w, r, read)
		default:
			writeError(w, apierr.NotFound("Page"))
		}
	}))
}
