package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/magpie-search/magpie/internal/queue"
)

// Bounds of what the metrics of the queues cost, however often they are read.
const (
	queuesAge     = 5 * time.Second
	queuesTimeout = 2 * time.Second
)

// queues are the numbers of tasks in the queues.
type queues struct {
	cached[Queues]
	tasks, oldest, workers *prometheus.Desc
}

// Queues are the numbers of the queues and of the workers that are alive.
type Queues struct {
	States  []*queue.State
	Workers int
}

// Queues adds the numbers of the queues, which read returns, instead of earlier ones.
func (m *Metrics) Queues(read func() (Queues, error)) {
	m.replace(&queues{
		cached: cached[Queues]{read: read, age: queuesAge, timeout: queuesTimeout},
		tasks: prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "tasks"),
			"Tasks in a queue, of all processes, by state: pending, active, scheduled, retry or archived.", []string{"queue", "state"}, nil),
		oldest: prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "oldest_seconds"),
			"How long the oldest pending task of a queue waits; 0 for none.", []string{"queue"}, nil),
		workers: prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "workers"),
			"Workers that are alive, of the whole installation.", nil, nil),
	})
}

// Describe implements [prometheus.Collector].
func (q *queues) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- q.tasks
	descriptions <- q.oldest
	descriptions <- q.workers
}

// Collect implements [prometheus.Collector].
func (q *queues) Collect(metrics chan<- prometheus.Metric) {
	now := q.get()
	if now == nil {
		return
	}
	metrics <- prometheus.MustNewConstMetric(q.workers, prometheus.GaugeValue, float64(now.Workers))
	for _, s := range now.States {
		for state, n := range map[string]int{
			"pending": s.Pending, "active": s.Active, "scheduled": s.Scheduled, "retry": s.Retry, "archived": s.Archived,
		} {
			metrics <- prometheus.MustNewConstMetric(q.tasks, prometheus.GaugeValue, float64(n), s.Name, state)
		}
		metrics <- prometheus.MustNewConstMetric(q.oldest, prometheus.GaugeValue, s.OldestSeconds, s.Name)
	}
}
