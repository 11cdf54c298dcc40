package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/magpie-search/magpie/internal/queue"
)

// Bounds of what the metrics of the queues cost, however often they are read.
const (
	queuesAge     = 5 * time.Second
	queuesTimeout = 2 * time.Second
)

// queues are the numbers of tasks in the queues. They are read again when a caller
// asks and the last ones are old. While they cannot be read there are none.
type queues struct {
	read          func() ([]*queue.State, error)
	tasks, oldest *prometheus.Desc

	mu      sync.Mutex
	at      time.Time
	last    []*queue.State
	reading bool // a read that took too long goes on
}

// Queues adds the numbers of tasks in the queues, which read returns, instead of earlier ones.
func (m *Metrics) Queues(read func() ([]*queue.State, error)) {
	m.replace(&queues{
		read: read,
		tasks: prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "tasks"),
			"Tasks in a queue, of all processes, by state: pending, active, scheduled, retry or archived.", []string{"queue", "state"}, nil),
		oldest: prometheus.NewDesc(prometheus.BuildFQName(namespace, "queue", "oldest_seconds"),
			"How long the oldest pending task of a queue waits; 0 for none.", []string{"queue"}, nil),
	})
}

// Describe implements [prometheus.Collector].
func (q *queues) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- q.tasks
	descriptions <- q.oldest
}

// Collect implements [prometheus.Collector].
func (q *queues) Collect(metrics chan<- prometheus.Metric) {
	for _, s := range q.get() {
		for state, n := range map[string]int{
			"pending": s.Pending, "active": s.Active, "scheduled": s.Scheduled, "retry": s.Retry, "archived": s.Archived,
		} {
			metrics <- prometheus.MustNewConstMetric(q.tasks, prometheus.GaugeValue, float64(n), s.Name, state)
		}
		metrics <- prometheus.MustNewConstMetric(q.oldest, prometheus.GaugeValue, s.OldestSeconds, s.Name)
	}
}

func (q *queues) get() []*queue.State {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reading || time.Since(q.at) < queuesAge {
		return q.last
	}
	q.reading, q.last = true, nil
	done := make(chan []*queue.State, 1)
	go func() {
		states, err := q.read()
		if err != nil {
			states = nil
		}
		done <- states
		q.mu.Lock()
		defer q.mu.Unlock()
		q.reading, q.at, q.last = false, time.Now(), states
	}()
	timeout := time.NewTimer(queuesTimeout)
	defer timeout.Stop()
	select {
	case states := <-done:
		return states
	case <-timeout.C:
		return nil
	}
}
