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
)

// Bus carries the news of jobs between processes. What it loses does no harm.
type Bus interface {
	// Publish tells every process. It does not wait for their reaction.
	Publish(ctx context.Context, e Event) error
	// Subscribe returns the news of one job from now on.
	Subscribe(job uuid.UUID) Subscription
	// Tap calls hear with all news from now on, one after the other, until untap
	// is called. hear does not wait, and calls nothing of the bus.
	Tap(hear func(Snapshot)) (untap func())
}

// Event is one piece of news. A snapshot whose Canceling is set tells the
// worker that holds the job to stop.
type Event struct {
	Snapshot Snapshot `json:"snapshot"`
}

// Subscription is one listener's view of a job.
type Subscription interface {
	// News has something to receive after each change; several changes may be
	// told once.
	News() <-chan struct{}
	// Latest returns the newest snapshot seen; false when there was none yet.
	Latest() (Snapshot, bool)
	// Close ends the subscription.
	Close()
}

// Jobs starts, follows and stops sync jobs. It is safe for concurrent use.
type Jobs struct {
	client *ent.Client
	queue  queue.Enqueuer
	bus    Bus
	now    func() time.Time
	log    *slog.Logger
	times  Times

	mu       sync.Mutex
	closed   bool
	closing  chan struct{}  // closed by Close
	watchers sync.WaitGroup // and the hub's polling
	hub      hub
	untap    func()
}

// Times are the rhythms of jobs; zero values mean the defaults.
type Times struct {
	Poll      time.Duration // a watcher reads the row again when the bus is silent: 2 s
	Heartbeat time.Duration // a worker says that it is alive and saves its counters: 5 s
	Progress  time.Duration // a worker tells the bus what it has done: 250 ms
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

// Option changes a setting of [New].
type Option func(*Jobs)

// WithLog sets where what cannot be answered to anybody is logged; nowhere by default.
func WithLog(log *slog.Logger) Option { return func(j *Jobs) { j.log = log } }

// WithTimes sets the rhythms.
func WithTimes(t Times) Option { return func(j *Jobs) { j.times = t.orDefaults() } }

// New makes the jobs of an installation. now tells the time, in tests a fake one.
func New(client *ent.Client, q queue.Enqueuer, bus Bus, now func() time.Time, options ...Option) *Jobs {
	j := &Jobs{
		client: client, queue: q, bus: bus, now: now,
		log: slog.New(slog.DiscardHandler), times: Times{}.orDefaults(), closing: make(chan struct{}),
	}
	for _, option := range options {
		option(j)
	}
	j.untap = bus.Tap(j.hub.deliver)
	return j
}

// Close ends all watchers and waits for them. Their channels are closed.
func (j *Jobs) Close() {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.closing)
		j.untap()
	}
	j.mu.Unlock()
	j.watchers.Wait()
}

// Get returns a job that the viewer may see.
func (j *Jobs) Get(ctx context.Context, jobID uuid.UUID) (*ent.SyncJob, error) {
	return get(ctx, transaction.Client(ctx, j.client), jobID)
}

// Snapshot returns the stored state of a job that the viewer may see. The
// counters of a running one are a few seconds old at most.
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

// publish tells the bus. Its failure is only logged: watchers read the row too.
func (j *Jobs) publish(ctx context.Context, e Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishLimit)
	defer cancel()
	if err := j.bus.Publish(ctx, e); err != nil {
		j.log.DebugContext(ctx, "the news of a sync job could not be published", "job", e.Snapshot.Job, "error", err)
	}
}

const publishLimit = time.Second
