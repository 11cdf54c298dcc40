package stack

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/live/connection"
)

// changesTimeout bounds the counting of passages for the metrics, which goes on after a
// request for them has stopped waiting.
const changesTimeout = 20 * time.Second

// processMetrics adds the metrics that each process has.
func processMetrics(app *wire.App) {
	m := app.Metrics
	m.Gauge("database", "connections", "Open connections of the pool for plain SQL.", func() float64 {
		return float64(app.DB.Pool.Stat().TotalConns())
	})
	m.Gauge("database", "connections_in_use", "Connections of that pool that are in use.", func() float64 {
		return float64(app.DB.Pool.Stat().AcquiredConns())
	})
	m.Counter("database", "statements_total", "Statements that were sent to the database.", func() float64 {
		return float64(app.DB.Statements())
	})
	if len(app.Readers.Stats().Replicas) > 0 {
		m.Replicas(app.Readers.Stats)
	}
	m.Projections(func() (index.ProjectionTotals, error) {
		ctx, cancel := context.WithTimeout(context.Background(), changesTimeout)
		defer cancel()
		return app.Index.ProjectionTotals(ctx)
	})
	m.Gauge("redis", "connections", "Open connections to Redis.", func() float64 {
		return float64(app.Redis.PoolStats().TotalConns)
	})
	m.Queues(func() (metrics.Queues, error) {
		states, err := app.Queue.States()
		if err != nil {
			return metrics.Queues{}, err
		}
		workers, err := app.Queue.Workers()
		return metrics.Queues{States: states, Workers: len(workers)}, err
	})
	m.ModelChanges(func() ([]metrics.ModelChange, error) {
		ctx, cancel := context.WithTimeout(context.Background(), changesTimeout)
		defer cancel()
		totals, err := app.Collections.ChangeTotals(ctx)
		changes := make([]metrics.ModelChange, len(totals))
		for i, total := range totals {
			changes[i] = metrics.ModelChange(*total)
		}
		return changes, err
	})
	m.Counter("traces", "spans_dropped_total", "Spans that were lost because too many waited for the collector.", func() float64 {
		return float64(app.LostSpans().Dropped)
	})
	m.Counter("traces", "spans_unsent_total", "Spans that were lost because the collector did not take them.", func() float64 {
		return float64(app.LostSpans().Unsent)
	})
	m.Ready(readiness(app))
}

// serverMetrics adds the metrics of a process that serves HTTP.
func serverMetrics(app *wire.App, streams *connection.Server) {
	m := app.Metrics
	m.Counter("query_log", "written_total", "Searches and questions that were written to the query log.", func() float64 {
		return float64(app.Queries.Written())
	})
	m.Counter("query_log", "dropped_total", "Those that were lost because the log could not be written fast enough.", func() float64 {
		return float64(app.Queries.Dropped())
	})
	m.Gauge("graphql", "websockets", "Open WebSockets.", func() float64 { return float64(streams.Stats().WebSockets) })
	m.Gauge("graphql", "subscriptions", "Open operations of WebSockets and streams of events.", func() float64 {
		return float64(streams.Stats().Operations)
	})
	m.Counter("graphql", "slow_readers_total", "Streams that were cut off since nothing was read from them.", func() float64 {
		return float64(streams.Stats().Slow)
	})
	resident := app.Search.Resident
	m.Gauge("search", "resident_collections", "Collections that are kept in memory.", func() float64 { return float64(resident().Collections) })
	m.Gauge("search", "resident_passages", "Passages of those collections.", func() float64 { return float64(resident().Passages) })
	m.Gauge("search", "resident_bytes", "Bytes that those collections take.", func() float64 { return float64(resident().Bytes) })
	m.Counter("search", "loads_total", "Collections that were loaded into memory.", func() float64 { return float64(resident().Loads) })
	m.Counter("search", "catchups_total", "Times that changes were read into memory.", func() float64 { return float64(resident().CatchUps) })
	m.Counter("search", "evictions_total", "Collections that left memory for others.", func() float64 { return float64(resident().Evictions) })
	freshnessMetrics(app)
}
