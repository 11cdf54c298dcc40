package metrics

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "magpie"

// Metrics is a Prometheus registry with the metrics of a process.
type Metrics struct {
	registry *prometheus.Registry

	requests        *prometheus.CounterVec
	requestSeconds  *prometheus.HistogramVec
	requestsRunning prometheus.Gauge

	tasks        *prometheus.CounterVec
	taskSeconds  *prometheus.HistogramVec
	tasksRunning *prometheus.GaugeVec

	jobs       *prometheus.CounterVec
	jobSeconds prometheus.Histogram
	items      *prometheus.CounterVec

	calls       *prometheus.CounterVec
	callSeconds *prometheus.HistogramVec

	engineErrors  *prometheus.CounterVec
	engineSeconds *prometheus.HistogramVec
}

// New returns the metrics of a process that runs a version of the program.
func New(version string) *Metrics {
	m := &Metrics{
		registry:        prometheus.NewRegistry(),
		requests:        counters("http", "requests_total", "Finished requests.", "surface", "method", "status"),
		requestSeconds:  histograms("http", "request_seconds", "Time until the end of a response.", fast(), "surface"),
		requestsRunning: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: "http", Name: "requests_running", Help: "Running requests, including streams."}),
		tasks:           counters("worker", "tasks_total", "Tasks of the queue that this worker has ended, by outcome: ok, or failed and to be delivered again.", "task", "outcome"),
		taskSeconds:     histograms("worker", "task_seconds", "Time that a task has taken.", slow(), "task"),
		tasksRunning:    gauges("worker", "tasks_running", "Tasks that this worker runs.", "task"),
		jobs:            counters("sync", "jobs_total", "Sync jobs that this process has ended, by the status that they ended with.", "status"),
		jobSeconds:      prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: "sync", Name: "job_seconds", Help: "Time from the start of a sync job until its end.", Buckets: slow()}),
		items:           counters("sync", "items_total", "Items of the sync jobs that this process has ended, by outcome.", "outcome"),
		calls:           counters("model", "calls_total", "Calls of models of other services, by outcome.", "kind", "model", "outcome"),
		callSeconds:     histograms("model", "call_seconds", "Time until the end of a call of a model, for chat models until the beginning of the answer.", fast(), "kind", "model"),
		engineErrors:    counters("engine", "errors_total", "Calls of the search engine that failed, by operation.", "operation"),
		engineSeconds:   histograms("engine", "call_seconds", "Time until the end of a call of the search engine.", fast(), "operation"),
	}
	build := gauges("build", "info", "Always 1; the labels say what runs.", "version", "go_version")
	build.WithLabelValues(version, runtime.Version()).Set(1)
	for _, status := range []string{"completed", "partial", "failed", "canceled"} {
		m.jobs.WithLabelValues(status) // the series are there before the first job has ended
	}
	m.registry.MustRegister(m.requests, m.requestSeconds, m.requestsRunning, m.tasks, m.taskSeconds, m.tasksRunning, m.jobs, m.jobSeconds, m.items,
		m.calls, m.callSeconds, m.engineErrors, m.engineSeconds, build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// fast are the bounds of what people wait for, in seconds.
func fast() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60}
}

// slow are the bounds of work in the background, in seconds.
func slow() []float64 {
	return []float64{.01, .05, .25, 1, 5, 15, 30, 60, 300, 1800, 7200, 43200}
}

func counters(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func gauges(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func histograms(subsystem, name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler serves the metrics in the formats that Prometheus reads.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Gauge adds a gauge whose value is read when metrics are collected. It replaces one of
// the same name.
func (m *Metrics) Gauge(subsystem, name, help string, read func() float64) {
	m.replace(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, read))
}

// Counter adds a counter whose value is read when metrics are collected. It replaces one
// of the same name.
func (m *Metrics) Counter(subsystem, name, help string, read func() float64) {
	m.replace(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, read))
}

// replace registers a collector instead of an earlier one, since a process may serve
// more than once.
func (m *Metrics) replace(c prometheus.Collector) {
	m.registry.Unregister(c)
	m.registry.MustRegister(c)
}

// Request counts and times a request. The caller calls ended with the status of the
// response. Paths are no label, since they contain ids.
func (m *Metrics) Request(surface, method string) (ended func(status int)) {
	start := time.Now()
	m.requestsRunning.Inc()
	return func(status int) {
		m.requestsRunning.Dec()
		m.requestSeconds.WithLabelValues(surface).Observe(time.Since(start).Seconds())
		m.requests.WithLabelValues(surface, method, strconv.Itoa(status)).Inc()
	}
}
