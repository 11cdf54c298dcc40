package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A recorder is a syncer that records its tasks.
type recorder struct {
	got chan queue.Sync
	do  func(ctx context.Context) error
}

func (r *recorder) Sync(ctx context.Context, t queue.Sync) error {
	r.got <- t
	if r.do != nil {
		return r.do(ctx)
	}
	return nil
}

// A reembedder has pending tasks and records those that it gets.
type reembedder struct {
	pending []queue.Reembed
	got     chan queue.Reembed
}

func (r *reembedder) Pending(context.Context) ([]queue.Reembed, error) { return r.pending, nil }

func (r *reembedder) Reembed(_ context.Context, t queue.Reembed) error {
	r.got <- t
	return nil
}

type fixture struct {
	*testing.T
	redis *redis.Client
	queue *queue.Asynq
	sync  *recorder
	embed *reembedder
	w     *worker.Worker

	maintained chan struct{} // receives a value for each call of Maintain
	ended      chan string   // receives "task error" for each ended task
}

func newFixture(t *testing.T, do func(ctx context.Context) error, changes ...func(*worker.Options)) *fixture {
	t.Helper()
	f := &fixture{
		T: t, sync: &recorder{got: make(chan queue.Sync, 16), do: do}, embed: &reembedder{got: make(chan queue.Reembed, 16)},
	}
	options, err := redis.ParseURL(testkit.Redis(t))
	f.must(err)
	f.redis = redis.NewClient(options)
	t.Cleanup(func() { _ = f.redis.Close() })
	f.queue = queue.NewAsynq(f.redis)
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 4)
	f.must(err)
	t.Cleanup(db.Close)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	bus := syncjob.NewRedisBus(t.Context(), f.redis, log)
	t.Cleanup(func() { _ = bus.Close() })
	jobs := syncjob.New(db.Ent, f.queue, bus, time.Now)
	t.Cleanup(jobs.Close)
	f.maintained, f.ended = make(chan struct{}, 1), make(chan string, 16)
	o := worker.Options{
		PollEvery: 10 * time.Millisecond, Log: log, MaintainEvery: time.Millisecond,
		Observe: func(task string) func(error) {
			return func(err error) { f.ended <- fmt.Sprint(task, " ", err) }
		},
		Maintain: func(context.Context) error {
			select {
			case f.maintained <- struct{}{}:
			default:
			}
			return errors.New("maintenance failed")
		},
	}
	for _, change := range changes {
		change(&o)
	}
	f.w = worker.New(f.redis, jobs, f.sync, f.embed, o)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// run starts the worker and returns a function that stops it.
func (f *fixture) run() (stop func()) {
	ctx, cancel := context.WithCancel(f.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := f.w.Run(ctx); err != nil {
			f.Error(err)
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func TestEveryTaskHasAHandler(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	if got := f.w.Handles(); !slices.Equal(got, queue.Names()) {
		t.Errorf("handlers for %v, want %v", got, queue.Names())
	}
}

func TestPendingModelChangesAreQueued(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want := queue.Reembed{Workspace: gid.New(gid.Workspace), Collection: gid.New(gid.Collection)}
	f.embed.pending = []queue.Reembed{want, want}
	stop := f.run()
	if got := <-f.embed.got; got != want {
		t.Errorf("Reembed(%v), want %v", got, want)
	}
	stop()
}

func TestTasksReachTheSyncer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want := queue.Sync{JobID: gid.New(gid.SyncJob), Attempt: 7}
	f.must(f.queue.Enqueue(t.Context(), want))
	stop := f.run()
	if got := <-f.sync.got; got != want {
		t.Errorf("Sync(%v), want %v", got, want)
	}
	stop()
	if waiting, err := f.queue.Waiting(t.Context(), want); err != nil || waiting {
		t.Errorf("the task still waits (%v)", err)
	}
}

func TestAFailedTaskIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(context.Context) error { return errors.New("the database is away") })
	want := queue.Sync{JobID: gid.New(gid.SyncJob)}
	f.must(f.queue.Enqueue(t.Context(), want))
	stop := f.run()
	<-f.sync.got
	<-f.sync.got
	stop()
	if waiting, err := f.queue.Waiting(t.Context(), want); err != nil || !waiting {
		t.Errorf("the task does not wait (%v)", err)
	}
	if got, want := <-f.ended, queue.SyncName+" the database is away"; got != want {
		t.Errorf("observed %q, want %q", got, want)
	}
}

func TestATaskThatPanickedIsObservedAsFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(context.Context) error { panic("a bug") })
	f.must(f.queue.Enqueue(t.Context(), queue.Sync{JobID: gid.New(gid.SyncJob)}))
	stop := f.run()
	if got, want := <-f.ended, queue.SyncName+" the handler panicked"; got != want {
		t.Errorf("observed %q, want %q", got, want)
	}
	stop()
}

func TestAMalformedTaskIsArchived(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	_, err := asynq.NewClientFromRedisClient(f.redis).Enqueue(
		asynq.NewTask(queue.SyncName, []byte(`{"job_id":5}`)), asynq.Queue(queue.Queue), asynq.TaskID("odd"))
	f.must(err)
	good := queue.Sync{JobID: uuid.New()}
	f.must(f.queue.Enqueue(t.Context(), good))
	stop := f.run()
	if got := <-f.sync.got; got != good {
		t.Errorf("Sync(%v), want %v", got, good)
	}
	stop()
	info, err := asynq.NewInspectorFromRedisClient(f.redis).GetTaskInfo(queue.Queue, "odd")
	f.must(err)
	if info.State != asynq.TaskStateArchived {
		t.Errorf("the malformed task is %s, want archived", info.State)
	}
}

func TestRunWaitsForHandlersAndCompletesTheirTasks(t *testing.T) {
	t.Parallel()
	saved := make(chan struct{})
	f := newFixture(t, func(ctx context.Context) error {
		<-ctx.Done() // a slice then saves itself
		close(saved)
		return nil
	})
	task := queue.Sync{JobID: gid.New(gid.SyncJob)}
	f.must(f.queue.Enqueue(t.Context(), task))
	stop := f.run()
	<-f.sync.got
	stop()
	select {
	case <-saved:
	default:
		t.Error("the worker ended before its handler")
	}
	if _, err := asynq.NewInspectorFromRedisClient(f.redis).GetTaskInfo(queue.Queue, task.ID()); !errors.Is(err, asynq.ErrTaskNotFound) {
		t.Errorf("the task is not done: %v", err)
	}
}

func TestMaintainIsCalledAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	stop := f.run()
	for range 3 {
		<-f.maintained
	}
	stop()
}
