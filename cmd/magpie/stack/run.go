package stack

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
)

// Failed gives the error of a server that stopped by itself.
func (h *HTTP) Failed() <-chan error { return h.server.Failed() }

// RunHTTP serves at the address of the settings until ctx ends, drains and
// stops. While PostgreSQL is away at the start it waits, and only health is
// answered. What can be read from skip ends the draining.
func RunHTTP(ctx context.Context, c *config.Config, log *slog.Logger, version string, skip <-chan struct{}) error {
	listener, err := web.Listen(ctx, c.ListenAddr)
	if err != nil {
		return err
	}
	unprofile, err := observe(ctx, profiles(c), log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer unprofile()
	gate := web.NewGate(log, web.AccessLog{Enabled: c.AccessLog, TrustedProxies: c.TrustedProxies})
	server := web.Serve(ctx, listener, gate, log)
	calm := context.WithoutCancel(ctx)
	log.InfoContext(ctx, "listening", slog.String("address", listener.Addr().String()))
	app, err := wire.Await(ctx, c, log, gate.Misses)
	if err != nil {
		return errors.Join(unlessStopped(ctx, err), server.Shutdown(calm, 0))
	}
	return errors.Join(run(ctx, app, server, gate, listener.Addr().String(), version, skip), app.Close())
}

// run serves an application until ctx ends.
func run(ctx context.Context, app *wire.App, server *web.Server, gate *web.Gate, address, version string, skip <-chan struct{}) error {
	calm := context.WithoutCancel(ctx)
	h, handler, err := prepare(ctx, app, version, false)
	if err != nil {
		return errors.Join(err, server.Shutdown(calm, 0))
	}
	h.begin(ctx, server)
	gate.Open(handler)
	app.Log.InfoContext(ctx, "serving", slog.String("address", address), slog.String("url", app.Config.PublicURL()))
	select {
	case <-ctx.Done():
		began := time.Now()
		app.Log.InfoContext(calm, "draining; a second signal stops at once", slog.Duration("for", app.Config.DrainTime))
		h.Drain(skip)
		app.Log.InfoContext(calm, "stopping", slog.Duration("drained", time.Since(began)))
		return h.Stop(calm)
	case err := <-h.Failed():
		return errors.Join(err, h.Stop(calm))
	}
}

// unlessStopped returns err, and nil if ctx has ended, since a stop while waiting is
// not an error.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
