package worker

import (
	"context"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/tracing"
)

// A Syncer does slices of sync jobs (worker/syncer).
type Syncer interface {
	Sync(ctx context.Context, t queue.Sync) error
}

// A Reembedder changes the embedding models of collections (worker/reembed).
type Reembedder interface {
	// Pending returns a task for each collection with work to do, from PostgreSQL.
	// The queue may hold some of the tasks already.
	Pending(ctx context.Context) ([]queue.Reembed, error)
	// Reembed does a slice of a task.
	Reembed(ctx context.Context, t queue.Reembed) error
}

// A Purger deletes connectors and collections (worker/purge).
type Purger interface {
	// Pending returns a task for each connector to delete, from PostgreSQL. The
	// queue may hold some of the tasks already.
	Pending(ctx context.Context) ([]queue.Purge, error)
	// Purge does a slice of a task.
	Purge(ctx context.Context, t queue.Purge) error
}

// A Dispatcher turns webhook deliveries into syncs (internal/connector/inbound).
type Dispatcher interface {
	Dispatch(ctx context.Context) (int, error)
}

// Subscriptions keeps webhook subscriptions at platforms alive (worker/subscribe, and
// internal/event/inbox for those of inbound integrations).
type Subscriptions interface {
	Keep(ctx context.Context) (int, error)
}

// Permissions refreshes the permissions of sources that are due (worker/syncer).
// It finds its work in PostgreSQL; any number of workers may call it.
type Permissions interface {
	// RefreshGroups reads groups and their members.
	RefreshGroups(ctx context.Context) error
	// StartReaders starts jobs that read which principals may read a document.
	StartReaders(ctx context.Context) error
}

// Events processes the events of inbound integrations (internal/event/inbox).
type Events interface {
	// Pending returns a task for each event that nobody has taken in time, from
	// PostgreSQL.
	Pending(ctx context.Context) ([]queue.Event, error)
	// Process processes an event.
	Process(ctx context.Context, t queue.Event) error
}

// Runs continues runs of agents (agents/run).
type Runs interface {
	// Pending returns a task for each queued run, from PostgreSQL.
	Pending(ctx context.Context) ([]queue.Run, error)
	// Continue claims a queued run and continues it in the background.
	Continue(ctx context.Context, t queue.Run) error
}

// Projection keeps a search engine in step with PostgreSQL (worker/project).
type Projection interface {
	// Tick works for a limited time on what it finds in PostgreSQL. Any number of workers may
	// call it.
	Tick(ctx context.Context) error
}

// Automations starts agents when something happens (agents/automation).
type Automations interface {
	// Tick starts what is due and does one step of every due run, from PostgreSQL. Any
	// number of workers may call it.
	Tick(ctx context.Context) error
}

// Approvals posts what agents ask people, where a channel is named (agents/approval/slack).
type Approvals interface {
	// Deliver posts what is due. It finds its work in PostgreSQL; any number of workers
	// may call it.
	Deliver(ctx context.Context) error
}

// Tools reads the tools of tool servers again (agents/integration/store).
type Tools interface {
	// RefreshDue reads those that are due. It finds its work in PostgreSQL; any number of
	// workers may call it.
	RefreshDue(ctx context.Context) error
}

// Options has useful zero values. The defaults of numbers and intervals are in the
// comments.
type Options struct {
	Concurrency    int           // tasks at a time: 4
	SweepEvery     time.Duration // between searches for abandoned jobs and pending tasks: 10 s
	Stale          time.Duration // age of a heartbeat at which a job is abandoned: 45 s
	ScheduleEvery  time.Duration // between searches for due schedules: 5 s
	InboundEvery   time.Duration // between dispatches of webhook deliveries, and between looks for approvals to post: 500 ms
	PollEvery      time.Duration // between looks at an empty queue: 200 ms
	SubscribeEvery time.Duration // between checks of webhook subscriptions, and of the tools that are read again: 15 s
	AutomateEvery  time.Duration // between calls of Automations.Tick: 1 s
	ProjectEvery   time.Duration // between calls of Projection.Tick: 1 s
	MaintainEvery  time.Duration // between calls of Maintain: 30 s
	Shutdown       time.Duration // for running slices to save themselves: 20 s

	// Each of these may be nil, in which case this worker leaves the work to others.
	Purge         Purger
	Inbound       Dispatcher
	Subscriptions Subscriptions
	// EventSubscriptions are those of inbound integrations.
	EventSubscriptions Subscriptions
	Permissions        Permissions
	Events             Events
	Runs               Runs
	Automations        Automations
	Approvals          Approvals
	Tools              Tools
	Projection         Projection
	// Maintain maintains data that is derived from documents, such as search
	// indexes. Calls do not overlap.
	Maintain func(ctx context.Context) error

	// Observe is called at the beginning of each task with its name; nil for nobody. The
	// worker calls ended with the error of the task.
	Observe func(task string) (ended func(error))

	// Tracer begins the spans of tasks; nil traces none.
	Tracer *tracing.Tracer

	Log *slog.Logger // nil discards
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
		{&o.AutomateEvery, time.Second},
		{&o.ProjectEvery, time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if o.Observe == nil {
		o.Observe = func(string) func(error) { return func(error) {} }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
