package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is a Prometheus registry with the metrics of a process.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	running  prometheus.Gauge
}

// NewMetrics returns the metrics of a process.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "magpie", Subsystem: "http", Name: "requests_total", Help: "Finished requests.",
		}, []string{"surface", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "magpie", Subsystem: "http", Name: "request_seconds", Help: "Time until the end of a response.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"surface"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "magpie", Subsystem: "http", Name: "requests_running", Help: "Running requests, including streams.",
		}),
	}
	m.registry.MustRegister(m.requests, m.duration, m.running, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Gauge adds a gauge whose value is read when metrics are collected.
func (m *Metrics) Gauge(subsystem, name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "magpie", Subsystem: subsystem, Name: name, Help: help,
	}, read))
}

// Counter adds a counter whose value is read when metrics are collected.
func (m *Metrics) Counter(subsystem, name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: "magpie", Subsystem: subsystem, Name: name, Help: help,
	}, read))
}

// measure counts and times requests by surface. Paths are no label, since they
// contain IDs.
func (m *Metrics) measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		surface, start := surfaceOf(r.URL.Path), time.Now()
		m.running.Inc()
		defer func() {
			m.running.Dec()
			m.duration.WithLabelValues(surface).Observe(time.Since(start).Seconds())
			status := http.StatusOK
			if r, ok := w.(*recorder); ok {
				status = r.status()
			}
			m.requests.WithLabelValues(surface, methodOf(r.Method), strconv.Itoa(status)).Inc()
		}()
		next.ServeHTTP(w, r)
	})
}

func surfaceOf(path string) string {
	switch {
	case path == "/graphql":
		return "graphql"
	case below(path, "/v1"):
		return "public"
	case below(path, "/api/v1"):
		return "dashboard"
	case below(path, "/webhooks"):
		return "webhooks"
	default:
		return "other"
	}
}

func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}
