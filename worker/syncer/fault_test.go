package syncer_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A gate stops a source at an item until the test opens it.
type gate struct {
	at      int64
	count   atomic.Int64
	reached chan struct{}
	open    chan struct{}
}

func newGate(at int64) *gate {
	return &gate{at: at, reached: make(chan struct{}), open: make(chan struct{})}
}

// hook returns a hook that stops the at-th call until the gate is opened. It also
// returns when ctx ends unless ignoreEnd is set.
func (g *gate) hook(ignoreEnd bool) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error {
		if g.count.Add(1) != g.at {
			return nil
		}
		close(g.reached)
		if ignoreEnd {
			<-g.open
			return nil
		}
		select {
		case <-g.open:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestCancelStopsARunningSync(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Parallel = 1
	f.work()
	f.script.fill(50, "v1")
	g := newGate(10)
	f.script.hooks(nil, g.hook(false))
	job := f.start(auto())
	<-g.reached
	asked, err := f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	// The worker may stop before the row is read.
	if asked.Status != entjob.StatusRunning && asked.Status != entjob.StatusCanceled {
		t.Errorf("the job is %s", asked.Status)
	}
	job = f.wait(job.ID)
	if job.Status != entjob.StatusCanceled || job.Error != nil || job.Added != 9 || f.live() != 9 {
		t.Errorf("the job is %+v with %d documents", job, f.live())
	}
	f.script.hooks(nil, nil)
	f.script.opened()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 50, Added: 41, Unchanged: 9})
	if n := f.script.opened(); n != 41 {
		t.Errorf("%d items were opened again", n)
	}
}

// The first worker is stuck in the source with a heartbeat of an hour, and wakes
// after another worker has finished its job.
func TestALostWorkerCannotWriteLater(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Parallel, f.options.SlicePages = 2, 3
	f.script.PageSize = 10
	f.worker.Stale = 300 * time.Millisecond
	f.script.fill(100, "v1")
	g := newGate(35)
	f.script.hooks(nil, g.hook(true))

	job := f.start(auto())
	dead := f.engine(f.newJobs(syncjob.Times{Heartbeat: time.Hour, Progress: time.Hour}))
	var gone sync.WaitGroup
	gone.Go(func() {
		for attempt := range 2 { // the first slice ends after 30 items
			if err := dead.Sync(f.Context(), queue.Sync{JobID: job.ID, Attempt: attempt}); err != nil {
				t.Error(err)
			}
		}
	})
	<-g.reached
	f.work()
	job = f.wait(job.ID)
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 100, Added: 100})
	if f.live() != 100 {
		t.Errorf("%d documents", f.live())
	}
	before := f.documents()
	close(g.open)
	gone.Wait()
	after := f.job(job.ID)
	if after.Revision != job.Revision || after.Status != job.Status || f.live() != 100 {
		t.Errorf("the lost worker changed the job to %+v", after)
	}
	for path, d := range f.documents() {
		if !d.UpdatedAt.Equal(before[path].UpdatedAt) {
			t.Errorf("the lost worker wrote %s", path)
		}
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 100, Unchanged: 100})
}

func TestAStoppingWorkerReleasesItsJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Parallel = 2
	f.script.PageSize = 20
	f.script.fill(60, "v1")
	g := newGate(30)
	f.script.hooks(nil, g.hook(false))
	stop := f.work()
	job := f.start(auto())
	<-g.reached
	stop()
	half := f.job(job.ID)
	if half.Status != entjob.StatusRunning || half.Cursor == "" {
		t.Errorf("after the worker's end the job is %+v", half)
	}
	f.script.hooks(nil, nil)
	begin := time.Now()
	f.work()
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 60, Added: 60})
	if f.live() != 60 {
		t.Errorf("%d documents", f.live())
	}
	if took := time.Since(begin); took >= f.worker.Stale {
		t.Errorf("only the sweeper found the job, after %s", took)
	}
}

func TestAFlushedRedisLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.SlicePages = 1
	f.script.PageSize = 20
	f.worker.Stale = time.Second
	f.script.fill(100, "v1")
	var opened atomic.Int64
	f.script.hooks(nil, func(ctx context.Context, _ string) error {
		if opened.Add(1)%15 == 0 {
			return f.redis.FlushAll(ctx).Err()
		}
		return nil
	})
	waiting := f.start(auto())
	f.must(f.redis.FlushAll(f.Context()).Err()) // the task is lost before a worker starts
	f.work()
	f.expect(f.wait(waiting.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 100, Added: 100})
	if f.live() != 100 || f.model.embedded() != 100 {
		t.Error("a document was lost or done twice")
	}
}

func TestRestartsOfTheServersAreSurvived(t *testing.T) {
	t.Parallel()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	f := newFixtureOn(t, stack.DatabaseURL, stack.RedisURL)
	f.options.RetryDelay = 100 * time.Millisecond
	f.options.Parallel, f.options.SlicePages = 2, 2
	f.script.PageSize = 10
	f.worker.Stale = 2 * time.Second
	f.script.fill(120, "v1")
	var opened atomic.Int64
	restart := make(chan func(context.Context) error, 1)
	f.script.hooks(nil, func(ctx context.Context, _ string) error {
		switch opened.Add(1) {
		case 25, 85:
			restart <- stack.RestartPostgres
		case 55:
			restart <- stack.RestartRedis
		}
		return nil
	})
	f.work()
	job := f.start(auto())
	for range 3 {
		f.must((<-restart)(f.Context()))
	}
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 120, Added: 120})
	if f.live() != 120 {
		t.Errorf("%d documents", f.live())
	}
	f.script.hooks(nil, nil)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 120, Unchanged: 120})
}

func TestRedisAwayWhenASyncIsStarted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.worker.Stale = 300 * time.Millisecond
	f.script.fill(3, "v1")
	queue := f.redis
	away, err := redisOf("unix:///nowhere/redis.sock")
	f.must(err)
	defer func() { _ = away.Close() }()
	f.redis = away
	jobs := f.newJobs(f.times)
	f.redis = queue
	job, err := jobs.Start(f.ctx, f.row.ID, auto())
	f.must(err)
	f.work()
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 3})
}

func TestManyConnectorsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(20, "v1")
	f.work()
	f.work()
	var ids []uuid.UUID
	for range 10 {
		f.row = f.connector("scripted", nil)
		ids = append(ids, f.start(auto()).ID)
	}
	for _, id := range ids {
		f.expect(f.wait(id), entjob.StatusCompleted, syncjob.Counters{Collected: 20, Added: 20})
	}
}

func TestAConnectorThatIsDeletedWhileItSyncs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Parallel = 1
	f.script.fill(20, "v1")
	g := newGate(5)
	f.script.hooks(nil, g.hook(false))
	f.work()
	job := f.start(auto())
	<-g.reached
	f.must(f.db.Ent.Connector.DeleteOneID(f.row.ID).Exec(f.ctx))
	close(g.open)
	row := f.row
	f.row = f.connector("scripted", nil)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 20, Added: 20})
	f.row = row
	if _, err := f.jobs.Get(f.ctx, job.ID); err == nil || len(f.documents()) != 0 {
		t.Error(fmt.Sprint("the deleted connector left something behind: ", err))
	}
}
