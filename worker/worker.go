package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store/driverlog"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// Syncer does slices of sync jobs (worker/syncer).
type Syncer interface {
	Sync(ctx context.Context, t queue.Sync) error
}

// Reembedder changes the embedding models of collections (worker/reembed).
type Reembedder interface {
	// Wanted returns a task for each collection with work to do, out of
	// PostgreSQL. One that is in the queue already may be among them.
	Wanted(ctx context.Context) ([]queue.Reembed, error)
	// Reembed does a slice of it.
	Reembed(ctx context.Context, t queue.Reembed) error
}

// Purger deletes connectors and collections (worker/purge).
type Purger interface {
	// Wanted returns a task for each connector to delete, out of PostgreSQL. One
	// that is in the queue already may be among them.
	Wanted(ctx context.Context) ([]queue.Purge, error)
	// Purge does a slice of it.
	Purge(ctx context.Context, t queue.Purge) error
}

// Dispatcher turns what platforms told of changes into syncs (internal/connector/inbound).
type Dispatcher interface {
	Dispatch(ctx context.Context) (int, error)
}

// Subscriptions are kept up at platforms (worker/subscribe).
type Subscriptions interface {
	Keep(ctx context.Context) (int, error)
}

// Permissions keeps what is known of the permissions of sources up to date
// (worker/syncer). Both find their work in PostgreSQL; any number of workers may
// call them.
type Permissions interface {
	// RefreshGroups reads groups and their members where that is due.
	RefreshGroups(ctx context.Context) error
	// StartReaders starts the jobs that read who may see which documents.
	StartReaders(ctx context.Context) error
}

// Options are settings with useful zero values.
type Options struct {
	Concurrency   int           // tasks worked on at once: 4
	SweepEvery    time.Duration // how often abandoned jobs and changes of models are looked for: 10 s
	Stale         time.Duration // age of a heartbeat at which a job is abandoned: 45 s
	ScheduleEvery time.Duration // how often due schedules are looked for: 5 s
	InboundEvery  time.Duration // how often what platforms told is looked after: 500 ms
	PollEvery     time.Duration // how often an empty queue is looked at: 200 ms
	Shutdown      time.Duration // how long running slices may take to save themselves: 20 s
	// Maintain looks after what is built from documents, such as search indexes;
	// it finds its work by itself. It is called every MaintainEvery (30 s), never
	// twice at once. May be nil.
	Maintain      func(ctx context.Context) error
	MaintainEvery time.Duration
	// Purge deletes what is to be deleted. May be nil: then it stays, unseen.
	Purge Purger
	// Inbound looks after what platforms told of changes. May be nil: then another
	// worker does.
	Inbound Dispatcher
	// Subscriptions are looked after every SubscribeEvery (15 s). May be nil.
	Subscriptions  Subscriptions
	SubscribeEvery time.Duration
	// Permissions reads who may see what, where that is due. May be nil: then only
	// who asks for it has it read.
	Permissions Permissions
	Log         *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.SweepEvery, 10 * time.Second},
		{&o.Stale, 45 * time.Second},
		{&o.ScheduleEvery, 5 * time.Second},
		{&o.InboundEvery, 500 * time.Millisecond},
		{&o.PollEvery, 200 * time.Millisecond},
		{&o.Shutdown, 20 * time.Second},
		{&o.SubscribeEvery, 15 * time.Second},
		{&o.MaintainEvery, 30 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Worker runs until its context ends. Make one with New and call Run once.
type Worker struct {
	redis redis.UniversalClient
	queue *queue.Asynq
	jobs  *syncjob.Jobs
	sync  Syncer
	embed Reembedder
	opt   Options

	running sync.WaitGroup // handlers, for which asynq does not always wait
}

// New makes a worker. The Redis client stays the caller's to close.
func New(client redis.UniversalClient, jobs *syncjob.Jobs, s Syncer, r Reembedder, o Options) *Worker {
	return &Worker{redis: client, queue: queue.NewAsynq(client), jobs: jobs, sync: s, embed: r, opt: o.withDefaults()}
}

// Handles lists the types of tasks that the worker has a handler for.
func (w *Worker) Handles() []string { return slices.Sorted(maps.Keys(w.handlers())) }

func (w *Worker) handlers() map[string]func(context.Context, []byte) error {
	return map[string]func(context.Context, []byte) error{
		queue.SyncName: func(ctx context.Context, payload []byte) error {
			t, err := queue.DecodeSync(payload)
			if err != nil {
				return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
			}
			return w.sync.Sync(ctx, t)
		},
		queue.ReembedName: func(ctx context.Context, payload []byte) error {
			t, err := queue.DecodeReembed(payload)
			if err != nil {
				return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
			}
			return w.embed.Reembed(ctx, t)
		},
		queue.PurgeName: func(ctx context.Context, payload []byte) error {
			t, err := queue.DecodePurge(payload)
			if err != nil {
				return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
			}
			if w.opt.Purge == nil {
				return nil // another worker's sweep finds it
			}
			return w.opt.Purge.Purge(ctx, t)
		},
	}
}

// Run works until ctx ends. Then it takes no further tasks, and the slices that
// are running stop at their next item, save themselves and queue the rest; Run
// returns when they have. Redis and PostgreSQL may be away for a while at any
// time: the work goes on when they are back.
func (w *Worker) Run(ctx context.Context) error {
	server := asynq.NewServerFromRedisClient(w.redis, asynq.Config{
		Concurrency:              w.opt.Concurrency,
		Queues:                   map[string]int{queue.Queue: 3, queue.Upkeep: 1},
		TaskCheckInterval:        w.opt.PollEvery,
		DelayedTaskCheckInterval: w.opt.PollEvery * 2,
		ShutdownTimeout:          w.opt.Shutdown,
		RetryDelayFunc:           retryDelay,
		Logger:                   driverlog.New(driverlog.Options{Driver: "asynq", Log: w.opt.Log}),
		LogLevel:                 asynq.InfoLevel,
		ErrorHandler: asynq.ErrorHandlerFunc(func(ctx context.Context, t *asynq.Task, err error) {
			id, _ := asynq.GetTaskID(ctx)
			w.opt.Log.WarnContext(ctx, "a task failed and is delivered again", "task", id, "type", t.Type(), "error", err)
		}),
	})
	mux := asynq.NewServeMux()
	for name, handle := range w.handlers() {
		mux.HandleFunc(name, w.guarded(ctx, handle))
	}
	if err := server.Start(mux); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	var loops sync.WaitGroup
	loops.Go(func() { every(ctx, w.opt.SweepEvery, w.sweep) })
	loops.Go(func() { every(ctx, w.opt.SweepEvery, w.reembed) })
	loops.Go(func() { every(ctx, w.opt.ScheduleEvery, w.schedule) })
	if w.opt.Purge != nil {
		loops.Go(func() { every(ctx, w.opt.SweepEvery, w.purge) })
	}
	if w.opt.Inbound != nil {
		loops.Go(func() { every(ctx, w.opt.InboundEvery, w.inbound) })
	}
	if w.opt.Subscriptions != nil {
		loops.Go(func() { every(ctx, w.opt.SubscribeEvery, w.subscribe) })
	}
	if w.opt.Permissions != nil {
		loops.Go(func() { every(ctx, w.opt.ScheduleEvery, w.readers) })
		loops.Go(func() { every(ctx, w.opt.ScheduleEvery, w.groups) })
	}
	if w.opt.Maintain != nil {
		loops.Go(func() { every(ctx, w.opt.MaintainEvery, w.maintain) })
	}
	<-ctx.Done()
	server.Stop()
	server.Shutdown()
	w.running.Wait()
	loops.Wait()
	return nil
}

// guarded gives a handler a context that ends with the worker's. The task's own
// must not: asynq would count the task as failed and not wait for the handler.
func (w *Worker) guarded(life context.Context, handle func(context.Context, []byte) error) func(context.Context, *asynq.Task) error {
	return func(ctx context.Context, t *asynq.Task) error {
		w.running.Add(1)
		defer w.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		return handle(ctx, t.Payload())
	}
}

// retryDelay is when asynq delivers a task again whose job could not be taken.
func retryDelay(n int, _ error, _ *asynq.Task) time.Duration {
	const first, longest = 2 * time.Second, 30 * time.Second
	return min(first<<min(n, 10), longest)
}

func (w *Worker) sweep(ctx context.Context) {
	if _, err := w.jobs.Sweep(ctx, w.queue.Due(), w.opt.Stale); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "abandoned sync jobs could not be looked after; the next round will", "error", err)
	}
}

// reembed puts the collections that need vectors into the queue, which holds
// each once.
func (w *Worker) reembed(ctx context.Context) {
	wanted, err := w.embed.Wanted(ctx)
	for _, t := range wanted {
		if err = w.queue.Enqueue(ctx, t); err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "changes of models could not be looked after; the next round will", "error", err)
	}
}

// purge puts the connectors to delete into the queue, which holds each once.
func (w *Worker) purge(ctx context.Context) {
	wanted, err := w.opt.Purge.Wanted(ctx)
	for _, t := range wanted {
		if err = w.queue.Enqueue(ctx, t); err != nil {
			break
		}
	}
	if err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "connectors to delete could not be looked after; the next round will", "error", err)
	}
}

func (w *Worker) schedule(ctx context.Context) {
	if _, err := w.jobs.StartDue(ctx); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "scheduled syncs could not be started; the next round will", "error", err)
	}
}

func (w *Worker) inbound(ctx context.Context) {
	if _, err := w.opt.Inbound.Dispatch(ctx); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "what platforms told could not be looked after; the next round will", "error", err)
	}
}

func (w *Worker) subscribe(ctx context.Context) {
	if _, err := w.opt.Subscriptions.Keep(ctx); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "subscriptions could not be looked after; the next round will", "error", err)
	}
}

func (w *Worker) readers(ctx context.Context) {
	if err := w.opt.Permissions.StartReaders(ctx); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "refreshes of permissions could not be started; the next round will", "error", err)
	}
}

func (w *Worker) groups(ctx context.Context) {
	if err := w.opt.Permissions.RefreshGroups(ctx); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "groups could not be looked after; the next round will", "error", err)
	}
}

func (w *Worker) maintain(ctx context.Context) {
	if err := w.opt.Maintain(ctx); err != nil && ctx.Err() == nil {
		w.opt.Log.WarnContext(ctx, "upkeep failed; the next round tries again", "error", err)
	}
}

// every calls do at once and then again and again until ctx ends.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		do(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
