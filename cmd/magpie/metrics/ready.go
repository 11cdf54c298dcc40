package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of what the metric of readiness costs, however often it is read.
const (
	readyAge     = 5 * time.Second
	readyTimeout = 2 * time.Second
)

// ready has the results of the readiness checks by part. They run again when a caller
// asks and the last results are old.
type ready struct {
	checks map[string]func(context.Context) error
	value  *prometheus.Desc

	mu   sync.Mutex
	at   time.Time
	last map[string]float64 // is never changed, but replaced
}

// Ready adds the results of readiness checks by the name of the checked part, instead
// of earlier ones.
func (m *Metrics) Ready(checks map[string]func(context.Context) error) {
	m.replace(&ready{checks: checks, value: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "ready"),
		"Whether a part that this process cannot do without answers: 1, or 0.", []string{"part"}, nil)})
}

// Describe implements [prometheus.Collector].
func (r *ready) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- r.value }

// Collect implements [prometheus.Collector].
func (r *ready) Collect(metrics chan<- prometheus.Metric) {
	for part, value := range r.get() {
		metrics <- prometheus.MustNewConstMetric(r.value, prometheus.GaugeValue, value, part)
	}
}

func (r *ready) get() map[string]float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.at) < readyAge {
		return r.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	var mu sync.Mutex
	var running sync.WaitGroup
	now := map[string]float64{}
	for part, check := range r.checks {
		running.Go(func() {
			value := 1.0
			if check(ctx) != nil { // /readyz logs why
				value = 0
			}
			mu.Lock()
			defer mu.Unlock()
			now[part] = value
		})
	}
	running.Wait()
	r.at, r.last = time.Now(), now
	return now
}
