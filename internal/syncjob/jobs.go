package syncjob

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/tracing"
)

// A Bus carries updates of jobs between processes. It may lose updates.
type Bus interface {
	// Publish sends an update to every process, without waiting for them.
	Publish(ctx context.Context, e Event) error
	// Subscribe returns the updates of one job from now on.
	Subscribe(job uuid.UUID) Subscription
	// Listen calls deliver with every update from now on, one at a time, until stop
	// is called. deliver must not block or call the bus.
	Listen(deliver func(Snapshot)) (stop func())
}

// An Event is an update. A snapshot with Canceling tells the worker that holds the
// job to stop.
type Event struct {
	Snapshot Snapshot `json:"snapshot"`
}

// A Subscription receives the updates of one job.
type Subscription interface {
	// Updates receives a value after each change. Several changes may be one value.
	Updates() <-chan struct{}
	// Latest returns the newest snapshot; false if there was none yet.
	Latest() (Snapshot, bool)
	// Close ends the subscription.
	Close()
}

// Jobs starts, watches and stops sync jobs. It is safe for concurrent use.
type Jobs struct {
	client *ent.Client
	queue  queue.Enqueuer
	bus    Bus
	now    func() time.Time
	log    *slog.Logger
	times  Times
	ended  func(Snapshot)
	tracer *tracing.Tracer

	mu            sync.Mutex
	closed        bool
	closing       chan struct{}  // closed by Close
	watchers      sync.WaitGroup // and the hub's polling
	hub           hub
	stopListening func()
}

// Times are intervals. Zero values mean the defaults.
type Times struct {
	Poll      time.Duration // of reading watched jobs when the bus is silent: 2 s
	Heartbeat time.Duration // of a worker's heartbeat, with its counters: 5 s
	Progress  time.Duration // of a worker's updates on the bus: 250 ms
}

func (t Times) orDefaults() Times {
	if t.Poll <= 0 {
		t.Poll = 2 * time.Second
	}
	if t.Heartbeat <= 0 {
		t.Heartbeat = 5 * time.Second
	}
	if t.Progress <= 0 {
		t.Progress = 250 * time.Millisecond
	}
	return t
}

// An Option changes a setting of [New].
type Option func(*Jobs)

// WithLog sets the log; without it, nothing is logged.
func WithLog(log *slog.Logger) Option { return func(j *Jobs) { j.log = log } }

// WithTimes sets the intervals.
func WithTimes(t Times) Option { return func(j *Jobs) { j.times = t.orDefaults() } }

// WithEnded has ended called with the final state of each job that this process ends.
// It must not block.
func WithEnded(ended func(Snapshot)) Option { return func(j *Jobs) { j.ended = ended } }

// WithTracer sets what traces the starts of scheduled syncs; without it, nothing does.
func WithTracer(t *tracing.Tracer) Option { return func(j *Jobs) { j.tracer = t } }

// New returns the Jobs of an installation. now is the clock.
func New(client *ent.Client, q queue.Enqueuer, bus Bus, now func() time.Time, options ...Option) *Jobs {
	j := &Jobs{
		client: client, queue: q, bus: bus, now: now,
		ended: func(Snapshot) {}, log: slog.New(slog.DiscardHandler), times: Times{}.orDefaults(), closing: make(chan struct{}),
	}
	for _, option := range options {
		option(j)
	}
	j.stopListening = bus.Listen(j.hub.deliver)
	return j
}

// Close ends all watchers, whose channels are closed, and waits for them.
func (j *Jobs) Close() {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.closing)
		j.stopListening()
	}
	j.mu.Unlock()
	j.watchers.Wait()
}

// Get returns a job that the viewer may see.
func (j *Jobs) Get(ctx context.Context, jobID uuid.UUID) (*ent.SyncJob, error) {
	return get(ctx, transaction.Client(ctx, j.client), jobID)
}

// Snapshot returns the stored state of a job that the viewer may see. The counters
// of a running job may be some seconds old.
func (j *Jobs) Snapshot(ctx context.Context, jobID uuid.UUID) (Snapshot, error) {
	row, err := j.Get(ctx, jobID)
	if err != nil {
		return Snapshot{}, err
	}
	return SnapshotOf(row), nil
}

func get(ctx context.Context, client *ent.Client, jobID uuid.UUID) (*ent.SyncJob, error) {
	row, err := client.SyncJob.Get(ctx, jobID)
	if err != nil {
		return nil, rowError(err)
	}
	return row, nil
}

func rowError(err error) error {
	if ent.IsNotFound(err) {
		return apierr.NotFound("Sync job")
	}
	return apierr.Wrap("read the sync job", err)
}

// publish sends an update to the bus, and tells of the end of a job. A failure is only
// logged, since watchers read the row, too.
func (j *Jobs) publish(ctx context.Context, e Event) {
	if !Open(e.Snapshot.Status) {
		j.ended(e.Snapshot)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishLimit)
	defer cancel()
	if err := j.bus.Publish(ctx, e); err != nil {
		j.log.DebugContext(ctx, "sync job update not published", slog.Any("job", e.Snapshot.Job), slog.Any("error", err))
	}
}

const publishLimit = time.Second
