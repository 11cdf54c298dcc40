package stack

import (
	"context"
	"errors"
	"log/slog"

	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/heap"
)

// Worker is the worker side of an application at work.
type Worker struct {
	cancel context.CancelFunc
	failed chan error
	ended  chan struct{}
}

// StartWorker starts to work, until Stop.
func StartWorker(ctx context.Context, app *wire.App) *Worker {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &Worker{cancel: cancel, failed: make(chan error, 1), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.failed <- app.Worker().Run(life)
	}()
	return w
}

// Failed gives the error of a worker that stopped by itself.
func (w *Worker) Failed() <-chan error { return w.failed }

// Stop lets the syncs that run save where they are, and waits until they have.
func (w *Worker) Stop() {
	w.cancel()
	<-w.ended
}

// RunWorker works until ctx ends, or until the schema no longer fits. While
// PostgreSQL is away at the start it waits. With WORKER_LISTEN_ADDR it serves health
// and metrics there.
func RunWorker(ctx context.Context, c *config.Config, log *slog.Logger) error {
	giveWay()
	gate := web.NewGate(log, web.AccessLog{})
	stop, err := observe(ctx, aside{"health and metrics", "--listen", c.WorkerListenAddr, gate}, log)
	if err != nil {
		return err
	}
	defer stop()
	unprofile, err := observe(ctx, profiles(c), log)
	if err != nil {
		return err
	}
	defer unprofile()
	app, err := wire.Await(ctx, c, log, gate.Misses)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	processMetrics(app)
	drain := &web.Drain{}
	defer context.AfterFunc(ctx, drain.Begin)()
	gate.Open(web.NewWorker(web.WorkerOptions{
		Ready: readiness(app), Drain: drain, Metrics: app.Metrics, MetricsNetworks: c.MetricsNetworks, Log: app.Log,
	}))
	go heap.Watch(ctx, func() int64 { return 0 })
	app.Log.InfoContext(ctx, "working", slog.Int("concurrency", app.Concurrency()))
	err = whileSchemaFits(ctx, app, app.Worker().Run)
	app.Log.InfoContext(context.WithoutCancel(ctx), "stopped")
	return errors.Join(err, app.Close())
}
