package wire

import (
	"runtime"

	"magpie/worker"
	"magpie/worker/syncer"
)

// Concurrency is how many tasks a worker of this process runs at once.
func (a *App) Concurrency() int {
	if a.Config.WorkerConcurrency > 0 {
		return a.Config.WorkerConcurrency
	}
	return max(2, runtime.GOMAXPROCS(0))
}

// Worker makes the worker side of the application; its Run may be called once.
func (a *App) Worker() *worker.Worker {
	window := a.Config.IdempotencyWindow
	if window == 0 {
		window = -1 // to the engine 0 is its default
	}
	engine := syncer.New(a.DB.Ent, a.Jobs, a.Kinds, a.Secrets, a.Models, a.Index, syncer.Options{
		MaxBytes: int64(a.Config.UploadLimit), Window: window, Log: a.Log,
	})
	return worker.New(a.Redis, a.Jobs, engine, worker.Options{
		Concurrency: a.Concurrency(), Shutdown: a.Config.ShutdownTimeout, Stale: a.Config.WorkerLostAfter, Log: a.Log,
	})
}
