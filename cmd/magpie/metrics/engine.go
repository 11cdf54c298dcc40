package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/magpie-search/magpie/internal/index"
)

// EngineCall counts and times a call of the search engine. The caller calls ended with its
// error. Calls that their caller canceled are not counted.
func (m *Metrics) EngineCall(operation string) (ended func(context.Context, error)) {
	start, failures := time.Now(), m.engineErrors.WithLabelValues(operation)
	return func(ctx context.Context, err error) {
		if err != nil && errors.Is(ctx.Err(), context.Canceled) {
			return
		}
		m.engineSeconds.WithLabelValues(operation).Observe(time.Since(start).Seconds())
		if err != nil {
			failures.Inc()
		}
	}
}

// Bounds of what reading the projections costs.
const (
	projectionsAge     = 10 * time.Second
	projectionsTimeout = 2 * time.Second
)

type projections struct {
	cached[index.ProjectionTotals]
	collections, changes, seconds *prometheus.Desc
}

// Projections adds the numbers of the collections in the search engine, which read
// returns, instead of earlier ones.
func (m *Metrics) Projections(read func() (index.ProjectionTotals, error)) {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "engine", name), help, labels, nil)
	}
	m.replace(&projections{
		cached:      cached[index.ProjectionTotals]{read: read, age: projectionsAge, timeout: projectionsTimeout},
		collections: describe("collections", "Collections that are to be in the search engine, of the whole installation.", "state"),
		changes:     describe("lag_changes", "The most changes of a ready collection that the engine has not confirmed."),
		seconds:     describe("lag_seconds", "The longest time for which a ready collection has had such changes."),
	})
}

// Describe implements [prometheus.Collector].
func (p *projections) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.collections, p.changes, p.seconds} {
		descriptions <- d
	}
}

// Collect implements [prometheus.Collector].
func (p *projections) Collect(metrics chan<- prometheus.Metric) {
	now := p.get()
	if now == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(p.collections, float64(now.Building), "building")
	gauge(p.collections, float64(now.Ready), "ready")
	gauge(p.collections, float64(now.Failed), "failed")
	gauge(p.changes, float64(now.LagChanges))
	gauge(p.seconds, max(now.Lag.Seconds(), 0))
}
