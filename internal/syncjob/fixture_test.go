package syncjob_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A clock is set by tests.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A fakeQueue records the tasks that were enqueued.
type fakeQueue struct {
	mu      sync.Mutex
	tasks   []queue.Sync
	waiting bool // every task is still in the queue
	err     error
}

func (q *fakeQueue) Enqueue(_ context.Context, t queue.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	q.tasks = append(q.tasks, t.(queue.Sync))
	return nil
}

func (q *fakeQueue) Waiting(context.Context, queue.Task) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting, q.err
}

func (q *fakeQueue) take() []queue.Sync {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.tasks
	q.tasks = nil
	return taken
}

var errAway = errors.New("the queue is away")

type fixture struct {
	*testing.T
	ctx   context.Context // of an owner of the first workspace
	other context.Context // of an owner of another workspace
	db    *store.DB
	clock *clock
	queue *fakeQueue
	bus   *syncjob.RedisBus
	redis *redis.Client
	jobs  *syncjob.Jobs
	row   *ent.Connector
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, clock: newClock(), queue: &fakeQueue{}}
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 12)
	f.must(err)
	t.Cleanup(db.Close)
	f.db = db
	options, err := redis.ParseURL(testkit.Redis(t))
	f.must(err)
	f.redis = redis.NewClient(options)
	t.Cleanup(func() { _ = f.redis.Close() })
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	f.bus = syncjob.NewRedisBus(t.Context(), f.redis, log)
	t.Cleanup(func() { f.must(f.bus.Close()) })
	f.jobs = syncjob.New(db.Ent, f.queue, f.bus, f.clock.now, syncjob.WithLog(log),
		syncjob.WithTimes(syncjob.Times{Poll: 50 * time.Millisecond, Heartbeat: 50 * time.Millisecond, Progress: 10 * time.Millisecond}))
	t.Cleanup(f.jobs.Close)
	f.ctx, f.other = f.workspace("first"), f.workspace("other")
	f.row = f.connector()
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// workspace creates a workspace and returns the context of its owner.
func (f *fixture) workspace(name string) context.Context {
	f.Helper()
	system := viewer.With(f.Context(), viewer.System(uuid.Nil))
	row, err := f.db.Ent.Workspace.Create().SetName(name).Save(system)
	f.must(err)
	return viewer.With(f.Context(), viewer.Viewer{
		Workspace: row.ID, Kind: viewer.KindSession, Role: viewer.RoleOwner, AllCollections: true, Surface: viewer.SurfaceDashboard,
	})
}

func (f *fixture) connector() *ent.Connector {
	f.Helper()
	collection, err := f.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("test").Save(f.ctx)
	f.must(err)
	row, err := f.db.Ent.Connector.Create().SetName("K").SetType("scripted").SetCollection(collection).Save(f.ctx)
	f.must(err)
	return row
}

// scheduled creates a connector with a schedule.
func (f *fixture) scheduled(interval string, next time.Time) *ent.Connector {
	f.Helper()
	row, err := f.connector().Update().SetSyncStrategy(connector.SyncStrategyScheduled).
		SetScheduleInterval(interval).SetNextSyncAt(next).Save(f.ctx)
	f.must(err)
	return row
}

func (f *fixture) start() *ent.SyncJob {
	f.Helper()
	job, err := f.jobs.Start(f.ctx, f.row.ID, syncjob.StartOptions{})
	f.must(err)
	return job
}

func (f *fixture) claim(job *ent.SyncJob) *syncjob.Run {
	f.Helper()
	run, err := f.jobs.Claim(f.Context(), queue.Sync{JobID: job.ID, Attempt: job.Attempt})
	f.must(err)
	return run
}

func (f *fixture) job(id uuid.UUID) *ent.SyncJob {
	f.Helper()
	job, err := f.jobs.Get(f.ctx, id)
	f.must(err)
	return job
}
