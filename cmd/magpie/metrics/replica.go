package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/magpie-search/magpie/internal/store/replica"
)

// replicas has the counts of reads and the states of the database's replicas.
type replicas struct {
	read                     func() replica.Stats
	reads, used, time, bytes *prometheus.Desc
}

// Replicas adds the reads of the database by the place that was chosen, and the state of
// each replica, instead of earlier ones.
func (m *Metrics) Replicas(read func() replica.Stats) {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "database", name), help, labels, nil)
	}
	m.replace(&replicas{
		read:  read,
		reads: describe("reads_total", "Reads that a replica could answer, by where they went, and why the primary was chosen.", "place", "reason"),
		used:  describe("replica_used", "Whether reads may use a replica: 1, or 0 while it is left out.", "replica"),
		time:  describe("replica_lag_seconds", "Age of the last transaction that the replica has replayed, 0 if nothing is missing.", "replica"),
		bytes: describe("replica_lag_bytes", "Bytes of the write-ahead log that the replica has not replayed.", "replica"),
	})
}

// Describe implements [prometheus.Collector].
func (r *replicas) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{r.reads, r.used, r.time, r.bytes} {
		descriptions <- d
	}
}

// Collect implements [prometheus.Collector].
func (r *replicas) Collect(metrics chan<- prometheus.Metric) {
	s := r.read()
	metrics <- prometheus.MustNewConstMetric(r.reads, prometheus.CounterValue, float64(s.OnReplicas), "replica", "")
	for reason, n := range s.OnPrimary {
		metrics <- prometheus.MustNewConstMetric(r.reads, prometheus.CounterValue, float64(n), "primary", reason)
	}
	for _, one := range s.Replicas {
		used := 0.0
		if one.Used {
			used = 1
		}
		metrics <- prometheus.MustNewConstMetric(r.used, prometheus.GaugeValue, used, one.Name)
		metrics <- prometheus.MustNewConstMetric(r.time, prometheus.GaugeValue, one.Lag.Time.Seconds(), one.Name)
		metrics <- prometheus.MustNewConstMetric(r.bytes, prometheus.GaugeValue, float64(one.Lag.Bytes), one.Name)
	}
}
