package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"magpie/cmd/magpie/web"
	"magpie/cmd/magpie/web/live"
	"magpie/cmd/magpie/wire"
	"magpie/internal/search/resident"
	"magpie/internal/widget"
	"magpie/rest"
)

// HTTP is the HTTP side of an application that is being served.
type HTTP struct {
	app     *wire.App
	server  *web.Server
	streams *live.Server
	cool    context.CancelFunc // ends warming
	warming sync.WaitGroup     // the reading of collections into memory
}

// Serve serves the application at the listener. page adds the page to try
// GraphQL on.
func Serve(ctx context.Context, app *wire.App, listener net.Listener, version string, page bool) (*HTTP, error) {
	c := app.Config
	streams := web.NewLive(ctx, app.Accounts, c.DashboardOrigins, live.Limits{
		PerConnection: c.SubscriptionsPerConnection, PerPerson: c.SubscriptionsPerPerson, PerProcess: c.SubscriptionsPerProcess,
	}, app.Log)
	handler, err := handler(app, streams, version, page)
	if err != nil {
		streams.Close(ctx)
		return nil, err
	}
	h := &HTTP{app: app, server: web.Serve(ctx, listener, handler, app.Log), streams: streams}
	warming, cool := context.WithCancel(ctx)
	h.cool = cool
	h.warming.Go(func() { app.Warm(warming) })
	return h, nil
}

func handler(app *wire.App, streams *live.Server, version string, page bool) (http.Handler, error) {
	c := app.Config
	server := app.GraphQL()
	transport, err := rest.New(app.REST())
	if err != nil {
		return nil, fmt.Errorf("REST: %w", err)
	}
	description, err := transport.OpenAPI(version)
	if err != nil {
		return nil, fmt.Errorf("REST: %w", err)
	}
	server.AddTransport(transport) // before those that go by content type
	web.AddTransports(server, streams, int64(c.UploadLimit))
	scripts, err := widget.New()
	if err != nil {
		return nil, err
	}
	metrics := web.NewMetrics()
	metrics.Gauge("database", "connections", "Open connections of the pool for plain SQL.", func() float64 {
		return float64(app.DB.Pool.Stat().TotalConns())
	})
	metrics.Gauge("database", "connections_in_use", "Connections of that pool that are in use.", func() float64 {
		return float64(app.DB.Pool.Stat().AcquiredConns())
	})
	metrics.Counter("database", "statements_total", "Statements that were sent to the database.", func() float64 {
		return float64(app.DB.Statements())
	})
	metrics.Gauge("redis", "connections", "Open connections to Redis.", func() float64 {
		return float64(app.Redis.PoolStats().TotalConns)
	})
	metrics.Counter("query_log", "written_total", "Searches and questions that were written to the query log.", func() float64 {
		return float64(app.Queries.Written())
	})
	metrics.Counter("query_log", "dropped_total", "Those that were lost because the log could not be written fast enough.", func() float64 {
		return float64(app.Queries.Dropped())
	})
	metrics.Gauge("graphql", "websockets", "Open WebSockets.", func() float64 { return float64(streams.Stats().WebSockets) })
	metrics.Gauge("graphql", "subscriptions", "Open operations of WebSockets and streams of events.", func() float64 {
		return float64(streams.Stats().Operations)
	})
	metrics.Counter("graphql", "slow_readers_total", "Streams that were cut off since nothing was read from them.", func() float64 {
		return float64(streams.Stats().Slow)
	})
	residentMetrics(metrics, app.Search.Resident)
	freshnessMetrics(metrics, app)
	return web.New(web.Options{
		GraphQL:     server,
		REST:        transport.Handler(server, http.NotFoundHandler()),
		OpenAPI:     description,
		Webhooks:    rest.NewWebhooks(app.Webhooks()),
		Widget:      scripts,
		Accounts:    app.Accounts,
		CrossOrigin: rest.DashboardCORS(c.DashboardOrigins).Handler,
		Ready: map[string]func(context.Context) error{
			"database": app.DB.Pool.Ping,
			"redis":    func(ctx context.Context) error { return app.Redis.Ping(ctx).Err() },
		},
		Metrics: metrics, MetricsNetworks: c.MetricsNetworks,
		TrustedProxies: c.TrustedProxies, Page: page, Version: version, Log: app.Log,
	}), nil
}

// residentMetrics tells of the collections that searches keep in memory.
func residentMetrics(metrics *web.Metrics, stats func() resident.CacheStats) {
	metrics.Gauge("search", "resident_collections", "Collections that are kept in memory.", func() float64 { return float64(stats().Collections) })
	metrics.Gauge("search", "resident_passages", "Passages of those collections.", func() float64 { return float64(stats().Passages) })
	metrics.Gauge("search", "resident_bytes", "Bytes that those collections take.", func() float64 { return float64(stats().Bytes) })
	metrics.Counter("search", "loads_total", "Collections that were loaded into memory.", func() float64 { return float64(stats().Loads) })
	metrics.Counter("search", "catchups_total", "Times that changes were read into memory.", func() float64 { return float64(stats().CatchUps) })
	metrics.Counter("search", "evictions_total", "Collections that left memory for others.", func() float64 { return float64(stats().Evictions) })
}

// Failed gives the error of a server that stopped by itself.
func (h *HTTP) Failed() <-chan error { return h.server.Failed() }

// streamsPatience is what clients get to leave when the process stops.
const streamsPatience = 5 * time.Second

// Stop sends the clients of streams elsewhere, lets running requests end and stops.
func (h *HTTP) Stop(ctx context.Context) error {
	leaving, cancel := context.WithTimeout(ctx, streamsPatience)
	defer cancel()
	h.cool()
	h.streams.Close(leaving)
	err := h.server.Shutdown(ctx, h.app.Config.ShutdownTimeout)
	h.warming.Wait()
	return err //nolint:wrapcheck // says what it was doing
}

// RunHTTP serves an application at its address until ctx ends.
func RunHTTP(ctx context.Context, app *wire.App, version string) error {
	listener, err := web.Listen(ctx, app.Config.ListenAddr)
	if err != nil {
		return err
	}
	h, err := Serve(ctx, app, listener, version, false)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	app.Log.InfoContext(ctx, "serving", slog.String("address", listener.Addr().String()), slog.String("url", app.Config.PublicURL()))
	select {
	case <-ctx.Done():
		app.Log.InfoContext(ctx, "stopping")
		return h.Stop(context.WithoutCancel(ctx))
	case err := <-h.Failed():
		return errors.Join(err, h.Stop(context.WithoutCancel(ctx)))
	}
}
