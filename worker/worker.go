package worker

import (
	"context"
	"errors"
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
	"github.com/magpie-search/magpie/internal/tracing"
)

// A Worker runs until its context ends. Call Run once.
type Worker struct {
	redis redis.UniversalClient
	queue *queue.Asynq
	jobs  *syncjob.Jobs
	sync  Syncer
	embed Reembedder
	opt   Options

	running sync.WaitGroup // handlers, for which asynq does not always wait
}

// New returns a worker. The caller closes the Redis client.
func New(client redis.UniversalClient, jobs *syncjob.Jobs, s Syncer, r Reembedder, o Options) *Worker {
	return &Worker{redis: client, queue: queue.NewAsynq(client), jobs: jobs, sync: s, embed: r, opt: o.withDefaults()}
}

// Handles lists the types of tasks that the worker has a handler for.
func (w *Worker) Handles() []string { return slices.Sorted(maps.Keys(w.handlers())) }

func (w *Worker) handlers() map[string]func(context.Context, []byte) error {
	return map[string]func(context.Context, []byte) error{
		queue.SyncName:    handler(queue.DecodeSync, w.sync.Sync),
		queue.ReembedName: handler(queue.DecodeReembed, w.embed.Reembed),
		queue.PurgeName: handler(queue.DecodePurge, func(ctx context.Context, t queue.Purge) error {
			if w.opt.Purge == nil {
				return nil // the loop of another worker queues it again
			}
			return w.opt.Purge.Purge(ctx, t)
		}),
		queue.EventName: handler(queue.DecodeEvent, func(ctx context.Context, t queue.Event) error {
			if w.opt.Events == nil {
				return nil // the loop of another worker queues it again
			}
			return w.opt.Events.Process(ctx, t)
		}),
		queue.RunName: handler(queue.DecodeRun, func(ctx context.Context, t queue.Run) error {
			if w.opt.Runs == nil {
				return nil // the loop of another worker queues it again
			}
			return w.opt.Runs.Continue(ctx, t)
		}),
	}
}

// handler returns a handler of tasks with the payload T. It does not retry a task
// that cannot be decoded.
func handler[T any](decode func([]byte) (T, error), handle func(context.Context, T) error) func(context.Context, []byte) error {
	return func(ctx context.Context, payload []byte) error {
		t, err := decode(payload)
		if err != nil {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		return handle(ctx, t)
	}
}

// A loop is work that the worker does in intervals.
type loop struct {
	name     string
	interval time.Duration
	run      func(context.Context) error
}

// loops returns the loops that the options ask for.
func (w *Worker) loops() []loop {
	o := &w.opt
	loops := []loop{
		{"requeue abandoned jobs", o.SweepEvery, func(ctx context.Context) error {
			_, err := w.jobs.Sweep(ctx, w.queue.Due(), o.Stale)
			return err
		}},
		{"queue model changes", o.SweepEvery, func(ctx context.Context) error { return enqueue(ctx, w.queue, w.embed.Pending) }},
		{"start scheduled syncs", o.ScheduleEvery, func(ctx context.Context) error {
			_, err := w.jobs.StartDue(ctx)
			return err
		}},
	}
	if o.Purge != nil {
		loops = append(loops, loop{"queue deletions", o.SweepEvery, func(ctx context.Context) error { return enqueue(ctx, w.queue, o.Purge.Pending) }})
	}
	if o.Events != nil {
		loops = append(loops, loop{"queue events", o.SweepEvery, func(ctx context.Context) error { return enqueue(ctx, w.queue, o.Events.Pending) }})
	}
	if o.Runs != nil {
		loops = append(loops, loop{"queue runs", o.SweepEvery, func(ctx context.Context) error { return enqueue(ctx, w.queue, o.Runs.Pending) }})
	}
	if o.Automations != nil {
		loops = append(loops, loop{"run automations", o.AutomateEvery, o.Automations.Tick})
	}
	if o.Projection != nil {
		loops = append(loops, loop{"project collections", o.ProjectEvery, o.Projection.Tick})
	}
	if o.Approvals != nil {
		loops = append(loops, loop{"post approvals", o.InboundEvery, o.Approvals.Deliver})
	}
	if o.Tools != nil {
		loops = append(loops, loop{"read tools again", o.SubscribeEvery, o.Tools.RefreshDue})
	}
	if o.Inbound != nil {
		loops = append(loops, loop{"dispatch webhooks", o.InboundEvery, func(ctx context.Context) error {
			_, err := o.Inbound.Dispatch(ctx)
			return err
		}})
	}
	if o.Subscriptions != nil {
		loops = append(loops, loop{"keep webhook subscriptions", o.SubscribeEvery, func(ctx context.Context) error {
			_, err := o.Subscriptions.Keep(ctx)
			return err
		}})
	}
	if o.EventSubscriptions != nil {
		loops = append(loops, loop{"keep subscriptions of integrations", o.SubscribeEvery, func(ctx context.Context) error {
			_, err := o.EventSubscriptions.Keep(ctx)
			return err
		}})
	}
	if o.Permissions != nil {
		loops = append(loops,
			loop{"start permission refreshes", o.ScheduleEvery, o.Permissions.StartReaders},
			loop{"refresh groups", o.ScheduleEvery, o.Permissions.RefreshGroups})
	}
	if o.Maintain != nil {
		loops = append(loops, loop{"maintain", o.MaintainEvery, o.Maintain})
	}
	return loops
}

// enqueue queues the pending tasks. The queue holds each task once.
func enqueue[T queue.Task](ctx context.Context, q *queue.Asynq, pending func(context.Context) ([]T, error)) error {
	tasks, err := pending(ctx)
	for _, t := range tasks {
		if err := q.Enqueue(ctx, t); err != nil {
			return err
		}
	}
	return err
}

// Run works until ctx ends. Then it accepts no more tasks, and the running slices
// stop at their next item, save themselves and queue the rest. Run returns when
// they have. Redis and PostgreSQL may be unavailable at any time; the work goes on
// when they are back.
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
			attributes := []slog.Attr{slog.String("task", id), slog.String("type", t.Type()), slog.Any("error", err)}
			if traced, ok := errors.AsType[tracedError](err); ok {
				attributes = append(attributes, slog.String(tracing.LogKey, traced.trace))
			}
			w.opt.Log.LogAttrs(ctx, slog.LevelWarn, "task failed, will be delivered again", attributes...)
		}),
	})
	mux := asynq.NewServeMux()
	for name, handle := range w.handlers() {
		mux.HandleFunc(name, w.guard(ctx, name, handle))
	}
	if err := server.Start(mux); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	var loops sync.WaitGroup
	for _, l := range w.loops() {
		loops.Go(func() { w.runLoop(ctx, l) })
	}
	<-ctx.Done()
	server.Stop()
	server.Shutdown()
	w.running.Wait()
	loops.Wait()
	return nil
}

// A tracedError is the error of a task that is traced, for the log, which does not get
// the context of the trace.
type tracedError struct {
	error
	trace string
}

// Unwrap returns the error of the task.
func (e tracedError) Unwrap() error { return e.error }

var errPanicked = errors.New("the handler panicked")

// guard returns a handler whose context also ends with life. The context of the
// task itself must not end: asynq would count the task as failed and would not
// wait for the handler.
func (w *Worker) guard(life context.Context, name string, handle func(context.Context, []byte) error) func(context.Context, *asynq.Task) error {
	return func(ctx context.Context, t *asynq.Task) (err error) {
		w.running.Add(1)
		defer w.running.Done()
		ended := w.opt.Observe(name)
		ctx, span := w.begin(ctx, name, t)
		err = errPanicked // until the handler returns
		defer func() {
			span.End(err)
			ended(err)
			if id := span.TraceID(); id != "" && err != nil {
				err = tracedError{err, id}
			}
		}()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		return handle(ctx, t.Payload())
	}
}

// slowSpan is the least duration of the statements and requests of a task that become
// spans, since a sync makes many.
const slowSpan = 100 * time.Millisecond

// begin begins the span of a task, in the trace of the span that queued it.
func (w *Worker) begin(ctx context.Context, name string, t *asynq.Task) (context.Context, *tracing.Span) {
	if w.opt.Tracer == nil {
		return ctx, nil
	}
	id, _ := asynq.GetTaskID(ctx)
	from, _ := asynq.GetQueueName(ctx)
	return w.opt.Tracer.Begin(ctx, "process "+name,
		tracing.Root{Kind: tracing.Consumer, Parent: queue.Traceparent(t.Headers()), Slow: slowSpan}, queue.SpanAttributes(from, id, "process")...)
}

// retryDelay returns the time until asynq delivers a failed task again.
func retryDelay(n int, _ error, _ *asynq.Task) time.Duration {
	const first, longest = 2 * time.Second, 30 * time.Second
	return min(first<<min(n, 10), longest)
}

// runLoop runs a loop at once and then in its interval until ctx ends.
func (w *Worker) runLoop(ctx context.Context, l loop) {
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	for {
		if err := l.run(ctx); err != nil && ctx.Err() == nil {
			w.opt.Log.WarnContext(ctx, "worker loop failed, will run again", slog.String("loop", l.name), slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
