package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of what the metrics of changes cost, however often they are read: passages are
// counted for them.
const (
	changesAge     = time.Minute
	changesTimeout = 2 * time.Second
)

// A ModelChange is what the changes of collections to an embedding model have done.
type ModelChange struct {
	Model string
	// Collections change to the model, and Failing is how many of them failed at the last try.
	Collections, Failing int
	// Passages and Embedded are those of the collections and the ones of them with a
	// vector of the model; nil if they are not known.
	Passages, Embedded *int
	// FailedAt is the time of the last failure; zero for none.
	FailedAt time.Time
}

type modelChanges struct {
	cached[[]ModelChange]
	collections, failing, passages, embedded, failure *prometheus.Desc
}

// ModelChanges adds the progress of changes of embedding models, which read returns,
// instead of earlier ones. read must bound the number of models.
func (m *Metrics) ModelChanges(read func() ([]ModelChange, error)) {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "embedding_change", name), help, []string{"model"}, nil)
	}
	m.replace(&modelChanges{
		cached:      cached[[]ModelChange]{read: read, age: changesAge, timeout: changesTimeout},
		collections: describe("collections", "Collections that change to an embedding model, of the whole installation."),
		failing:     describe("collections_failing", "Those of them whose last try failed."),
		passages:    describe("passages", "Passages of the collections that change to an embedding model."),
		embedded:    describe("passages_embedded", "Those of them that have a vector of the model."),
		failure:     describe("failure_seconds", "Time since a try of such a change failed; 0 if none has."),
	})
}

// Describe implements [prometheus.Collector].
func (c *modelChanges) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.collections, c.failing, c.passages, c.embedded, c.failure} {
		descriptions <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *modelChanges) Collect(metrics chan<- prometheus.Metric) {
	now := c.get()
	if now == nil {
		return
	}
	for _, change := range *now {
		gauge := func(d *prometheus.Desc, value float64) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, change.Model)
		}
		gauge(c.collections, float64(change.Collections))
		gauge(c.failing, float64(change.Failing))
		if change.Passages != nil && change.Embedded != nil {
			gauge(c.passages, float64(*change.Passages))
			gauge(c.embedded, float64(*change.Embedded))
		}
		age := 0.0
		if !change.FailedAt.IsZero() {
			age = max(0, time.Since(change.FailedAt).Seconds())
		}
		gauge(c.failure, age)
	}
}
