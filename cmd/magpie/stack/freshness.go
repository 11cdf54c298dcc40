package stack

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Bounds of what the metrics of freshness cost, however often they are read.
const (
	freshnessAge     = 15 * time.Second
	freshnessTimeout = 3 * time.Second
)

// freshness is the freshness of all connectors together. It is read again when a
// caller asks and the last value is old.
type freshness struct {
	read func(ctx context.Context) (syncjob.Freshness, error)

	mu   sync.Mutex
	at   time.Time
	last syncjob.Freshness
}

func (f *freshness) get() syncjob.Freshness {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) < freshnessAge {
		return f.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), freshnessTimeout)
	defer cancel()
	if now, err := f.read(ctx); err == nil {
		f.last = now
	}
	f.at = time.Now() // also after a failure: the database is not to be asked without end
	return f.last
}

// freshnessMetrics tells how long changes take from the sources into search.
func freshnessMetrics(app *wire.App) {
	f := &freshness{read: func(ctx context.Context) (syncjob.Freshness, error) {
		all, err := app.Jobs.Freshness(viewer.With(ctx, viewer.System(uuid.Nil)), nil)
		return all[uuid.Nil], err
	}}
	for _, g := range []struct {
		name, help string
		value      func(syncjob.Freshness) float64
	}{
		{"freshness_p50_seconds", "Time in which half of the changes of the last 24 hours came from their source into search.", func(f syncjob.Freshness) float64 { return f.Day.P50 }},
		{"freshness_p95_seconds", "Time in which 95 of 100 of them did.", func(f syncjob.Freshness) float64 { return f.Day.P95 }},
		{"freshness_max_seconds", "The longest that one of them took.", func(f syncjob.Freshness) float64 { return f.Day.Max }},
		{"changes_day", "Changes of the last 24 hours that were stored.", func(f syncjob.Freshness) float64 { return float64(f.Day.Changes) }},
		{"waiting_changes", "Changes that are known and cannot be searched yet.", func(f syncjob.Freshness) float64 { return float64(f.Waiting) }},
		{"waiting_oldest_seconds", "How long the oldest of them waits.", func(f syncjob.Freshness) float64 {
			if f.OldestWaiting.IsZero() {
				return 0
			}
			return max(0, time.Since(f.OldestWaiting).Seconds())
		}},
	} {
		app.Metrics.Gauge("sync", g.name, g.help, func() float64 { return g.value(f.get()) })
	}
}
