package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/throttle"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/syncer"
)

// crowd registers an endless source and a small one.
func (f *fixture) crowd(endless, small *connectortest.Fake) {
	f.Helper()
	registry, err := connectors.NewRegistry(endless.Kind("endless", connectortest.Abilities{}), small.Kind("scripted", connectortest.Abilities{}))
	f.must(err)
	f.registry = registry
}

// turnsExcept counts the turns of all jobs except one.
func (f *fixture) turnsExcept(but uuid.UUID) (turns int) {
	f.Helper()
	rows, err := f.db.Ent.SyncJob.Query().Where(entjob.IDNEQ(but)).All(viewer.With(f.ctx, viewer.System(uuid.Nil)))
	f.must(err)
	for _, row := range rows {
		turns += row.Turns
	}
	return turns
}

// A huge connector and a workspace with fifty busy connectors occupy two workers. A
// small connector, in the same or in another workspace, is done within a few turns
// of the others.
func TestASmallSyncIsNotDelayedByLargeOnes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	endless, small := connectortest.NewFake(), connectortest.NewFake()
	endless.PageSize, endless.Latency = 5, 100*time.Millisecond
	endless.Fill(5, "v1")
	endless.Reshape = func(page connectors.Page) connectors.Page {
		page.Next, page.Done = uuid.NewString(), false // the source never ends
		return page
	}
	small.PageSize = 20
	small.Fill(30, "v1")
	f.crowd(endless, small)
	f.options.ShareTime, f.options.SliceTime = 200*time.Millisecond, time.Hour
	f.worker.Stale = time.Minute
	f.jobs = f.newJobs(syncjob.Times{Poll: 100 * time.Millisecond, Heartbeat: time.Second})
	mine := f.row
	others := func(n int) {
		for range n {
			f.row = f.connector("endless", nil)
			f.start(auto())
		}
		f.row = mine
	}
	others(51)
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	workspace, err := f.db.Ent.Workspace.Create().SetName("Small").Save(system)
	f.must(err)
	f.work()
	f.work()
	testkit.WaitFor(t, "eight turns", func() bool { return f.turnsExcept(uuid.Nil) >= 8 }) // all places are occupied
	// They have run for days.
	f.must(f.db.Ent.SyncJob.Update().Where(entjob.StatusIn(entjob.StatusQueued, entjob.StatusRunning)).AddTurns(1000).Exec(f.ctx))
	const places, slices = 8, 4
	crowdContext := f.ctx
	for name, ctx := range map[string]context.Context{
		"another workspace": viewer.With(t.Context(), viewer.System(workspace.ID)), "the same workspace": f.ctx,
	} {
		f.ctx = ctx
		f.row = f.connector("scripted", nil)
		before, began := f.turnsExcept(uuid.Nil), time.Now()
		job := f.wait(f.start(auto()).ID)
		turns := f.turnsExcept(job.ID) - before
		t.Logf("in %s: %d turns of its own, %d of others, %s", name, job.Turns, turns, time.Since(began).Round(time.Millisecond))
		if job.Status != entjob.StatusCompleted || job.Added != 30 {
			t.Errorf("in %s: the job is %+v", name, job)
		}
		if turns > places*(slices+job.Turns) {
			t.Errorf("in %s: the others had %d turns meanwhile at %d places", name, turns, places)
		}
		f.ctx = crowdContext
	}
	// None of the busy connectors starves.
	testkit.WaitFor(t, "all turns", func() bool {
		return !f.db.Ent.SyncJob.Query().Where(entjob.StatusEQ(entjob.StatusQueued)).ExistX(f.ctx)
	})
}

// Fetching stops when embedding lags: the bytes that are fetched and not stored are
// bounded for any number and size of items, known or unknown.
func TestFetchingStopsWhenProcessingLags(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const item, items, bound = 256 << 10, 60, 1 << 20
	line := "Something that is said about the harbour and its lights. "
	for i := range items {
		path := fmt.Sprintf("big-%02d.txt", i)
		f.script.set(path, "1", strings.Repeat(fmt.Sprintf("%d %s\n\n", i, line), item/len(line)))
		if i%2 == 0 {
			f.script.change(path, func(file *file) { file.ReportedSize = -1 })
		}
	}
	f.options.Parallel, f.options.MaxBytes, f.options.FlightBytes = 32, bound, bound
	var fetched, embedded atomic.Int64 // items
	var most atomic.Int64
	f.script.hooks(nil, func(context.Context, string) error {
		now := fetched.Add(1) - embedded.Load()
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		return nil
	})
	f.substitute = &slowIndex{Index: f.index, stored: func() { embedded.Add(1) }}
	f.work()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: items, Added: items})
	// Items of unknown size reserve a MiB at first, the others a quarter.
	if n := most.Load(); n > bound/item+1 {
		t.Errorf("%d items of %d KiB were in flight, the bound is %d KiB", n, item>>10, bound>>10)
	} else {
		t.Logf("at most %d items in flight", n)
	}
}

// A slowIndex delays every Put.
type slowIndex struct {
	syncer.Index

	stored func()
}

func (s *slowIndex) Put(ctx context.Context, scope viewer.Scope, fence index.Fence, r *index.Record) (index.Outcome, error) {
	if err := testkit.Delay(ctx, 10*time.Millisecond); err != nil {
		return index.Outcome{}, err
	}
	outcome, err := s.Index.Put(ctx, scope, fence, r)
	s.stored()
	return outcome, err
}

// A job with paced credentials releases its place when its turn is far. A wait that
// a platform asked one job for applies to every job with the same credentials.
func TestTwoEnginesShareThePaceOfACredential(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(20, "1") // a walk and twenty opens, ten a second
	f.options.Limiters = throttle.New(throttle.Options{Redis: f.redis, Log: f.log})
	f.work()
	second := *f
	second.options.Limiters = throttle.New(throttle.Options{Redis: f.redis, Log: f.log})
	second.work()
	one, other := f.connector("paced", nil), f.connector("paced", nil)
	began := time.Now()
	f.row = one
	first := f.start(auto())
	f.row = other
	last := f.start(auto())
	for _, job := range []*ent.SyncJob{f.wait(first.ID), f.wait(last.ID)} {
		f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 20, Added: 20})
	}
	if took := time.Since(began); took < 4*time.Second {
		t.Errorf("42 requests at 10 a second took %s", took)
	}

	// The platform asks the first job to wait for a minute; the other job sends no request.
	f.script.remove("doc-0000.md")
	f.script.Script(connectortest.Fault{On: connectortest.OnWalk, Err: connectors.Retryable(errors.New("busy"), time.Minute)})
	f.row = one
	waiting := f.start(auto())
	testkit.WaitFor(t, "the first turn", func() bool { job := f.job(waiting.ID); return job.TurnAt != nil && job.Turns > 0 })
	walks := f.script.Calls(connectortest.OnWalk)
	f.row = other
	held := f.start(auto())
	testkit.WaitFor(t, "the turn of the held job", func() bool { job := f.job(held.ID); return job.TurnAt != nil && job.Turns > 0 })
	if n := f.script.Calls(connectortest.OnWalk); n != walks {
		t.Errorf("%d requests to the platform meanwhile", n-walks)
	}
	if at := f.job(held.ID).TurnAt; time.Until(*at) < 30*time.Second {
		t.Errorf("the other job comes back at %s", at)
	}
}

func TestAPausedSyncContinuesAtItsCursor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Parallel = 1
	f.script.PageSize = 10
	f.script.fill(50, "v1")
	g := newGate(25)
	f.script.hooks(nil, g.hook(false))
	f.work()
	job := f.start(auto())
	<-g.reached
	_, err := f.jobs.Pause(f.ctx, f.row.ID)
	f.must(err)
	testkit.WaitFor(t, "the paused job", func() bool { return f.job(job.ID).Status == entjob.StatusQueued })
	resting := f.job(job.ID)
	if f.live() != 24 || resting.Cursor != "doc-0019.md" {
		t.Errorf("%d documents are stored, the cursor is %q", f.live(), resting.Cursor)
	}
	f.clock.advance(time.Hour) // the sweeper ignores it
	f.script.hooks(nil, nil)
	walks := f.script.Calls(connectortest.OnWalk)
	f.script.opened()
	_, err = f.jobs.Resume(f.ctx, f.row.ID)
	f.must(err)
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 50, Added: 50})
	if n := f.script.opened(); n != 26 {
		t.Errorf("%d items were opened after the pause", n)
	}
	if n := f.script.Calls(connectortest.OnWalk) - walks; n != 3 {
		t.Errorf("%d pages were walked after the pause", n)
	}
	if row := f.db.Ent.Connector.GetX(f.ctx, f.row.ID); row.Status != connector.StatusActive {
		t.Errorf("the connector is %s", row.Status)
	}
}

// After any sequence of faults the ledger is exact.
func TestAnyScriptOfFaultsEndsWithAnExactLedger(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.script.PageSize = 10
			f.options.SlicePages = 3
			f.script.fill(60, "v1")
			dice := rand.New(rand.NewPCG(seed, 1))
			busy := errors.New("busy")
			for range 12 {
				fault := []connectortest.Fault{
					{On: connectortest.OnWalk, Err: connectors.Retryable(busy, 0)},
					{On: connectortest.OnOpen, Err: connectors.Retryable(busy, time.Millisecond)},
					{On: connectortest.OnOpen, Err: connectors.Retryable(busy, 0)},
					{On: connectortest.OnOpen, FailAt: 5},
					{On: connectortest.OnWalk, Duplicate: true},
					{On: connectortest.OnWalk, Stale: true},
					{On: connectortest.OnWalk, Panic: true},
					{On: connectortest.OnNew, Err: connectors.Retryable(busy, 0)},
					{On: connectortest.OnOpen, Delay: 20 * time.Millisecond},
				}[dice.IntN(9)]
				fault.After = dice.IntN(60)
				if fault.On != connectortest.OnOpen {
					fault.After = dice.IntN(7)
				}
				f.script.Script(fault)
			}
			f.work()
			f.sync(auto())
			f.script.ClearFaults()
			// The next sync processes only what failed.
			f.clock.advance(time.Hour)
			job := f.sync(auto())
			if job.Status != entjob.StatusCompleted || job.Collected != 60 || job.Failed+job.Skipped+job.Deleted != 0 {
				t.Errorf("the job is %+v", job)
			}
			if n := f.live(); n != 60 || len(f.ledger()) != 60 {
				t.Errorf("%d documents, %d ledger entries", n, len(f.ledger()))
			}
		})
	}
}

func TestItemsBeyondEveryLimitFailAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(5, "v1")
	f.script.Script(connectortest.Fault{On: connectortest.OnWalk, Oversized: true})
	f.work()
	job := f.sync(auto())
	if job.Status != entjob.StatusPartial || job.Added != 5 || job.Failed != 1 || len(job.Warnings) == 0 {
		t.Errorf("the job is %+v", job)
	}
	f.expectEntry("huge.md", "FAILED", "larger than")
}

// The end of a task must not end a job that another task of the same worker holds.
func TestATaskServesTheNextJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(3, "v1")
	first := f.start(auto())
	f.row = f.connector("scripted", nil)
	second := f.start(auto())
	engine := f.engine(f.jobs)
	var both sync.WaitGroup
	for range 2 { // both tasks are of the second job
		both.Go(func() {
			if err := engine.Sync(f.Context(), queue.Sync{JobID: second.ID}); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for _, id := range []uuid.UUID{first.ID, second.ID} {
		if job := f.job(id); job.Status != entjob.StatusCompleted || job.Added != 3 {
			t.Errorf("the job is %+v", job)
		}
	}
}
