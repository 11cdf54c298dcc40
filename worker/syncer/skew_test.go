package syncer_test

import (
	"testing"
	"time"

	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// skewed returns a node of the installation of f whose clock is ahead of the real
// time.
func (f *fixture) skewed(ahead time.Duration) *fixture {
	f.Helper()
	node := *f
	clock, err := store.NewClock(f.Context(), f.db.Pool, store.ClockOptions{
		Process: func() time.Time { return f.clock.now().Add(ahead) }, Every: time.Hour, // the tests set the clocks
	})
	f.must(err)
	f.Cleanup(clock.Close)
	node.jobs = syncjob.New(f.db.Ent, queue.NewAsynq(f.redis), f.bus, clock.Now, syncjob.WithLog(f.log), syncjob.WithTimes(f.times))
	f.Cleanup(node.jobs.Close)
	node.options.Now = clock.Now
	return &node
}

// The clocks of two nodes are twenty minutes apart. A job whose worker died is taken
// over in time, whichever clock is ahead.
func TestAJobIsTakenOverInTimeByANodeWithAnotherClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"the dead worker is ahead": 10 * time.Minute, "the dead worker is behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureOn(t, testkit.Database(t).AppURL, testkit.Redis(t))
			f.worker.Stale = 500 * time.Millisecond
			f.options.Parallel = 1
			f.script.fill(20, "v1")
			g := newGate(10)
			f.script.hooks(nil, g.hook(true))
			f.times.Heartbeat = time.Hour // a single heartbeat
			one := f.skewed(ahead)
			f.times.Heartbeat = 50 * time.Millisecond
			two := f.skewed(-ahead)
			job := one.start(auto())
			dead := one.engine(one.jobs)
			ended := make(chan error, 1)
			go func() { ended <- dead.Sync(f.Context(), queue.Sync{JobID: job.ID}) }()
			<-g.reached
			began := time.Now()
			two.work()
			f.expect(two.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 20, Added: 20})
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			close(g.open)
			f.must(<-ended)
		})
	}
}

// A job stays with its live worker for any length of time.
func TestALiveJobIsNotTakenByANodeWithAnotherClock(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"the worker is ahead": 10 * time.Minute, "the worker is behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureOn(t, testkit.Database(t).AppURL, testkit.Redis(t))
			f.options.Parallel = 1
			f.script.fill(20, "v1")
			g := newGate(10)
			f.script.hooks(nil, g.hook(false))
			one, two := f.skewed(ahead), f.skewed(-ahead)
			job := one.start(auto())
			worker := one.engine(one.jobs)
			ended := make(chan error, 1)
			go func() { ended <- worker.Sync(f.Context(), queue.Sync{JobID: job.ID}) }()
			<-g.reached
			held := f.job(job.ID).Attempt
			queue := queue.NewAsynq(f.redis)
			for began := time.Now(); time.Since(began) < 500*time.Millisecond; {
				swept, err := two.jobs.Sweep(f.system(), queue, 10*time.Second)
				f.must(err)
				if swept != 0 {
					t.Fatalf("%d live jobs counted as abandoned", swept)
				}
				if err := testkit.Delay(f.Context(), 20*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			close(g.open)
			f.must(<-ended)
			f.expect(f.job(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 20, Added: 20})
			if got := f.job(job.ID).Attempt; got != held {
				t.Errorf("the attempt went from %d to %d", held, got)
			}
		})
	}
}

// The window applies to documents that another node has processed.
func TestTheWindowHoldsAcrossNodesWithOtherClocks(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"the first is ahead": 10 * time.Minute, "the first is behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureOn(t, testkit.Database(t).AppURL, testkit.Redis(t))
			f.script.fill(3, "v1")
			one, two := f.skewed(ahead), f.skewed(-ahead)
			stop := one.work()
			f.expect(one.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 3})
			stop()
			two.work()
			f.script.set("doc-0001.md", "v2", "# Another version\n\nOf the second.\n")
			f.clock.advance(25 * time.Minute)
			f.expect(two.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Unchanged: 3})
			f.expectEntry("doc-0001.md", syncitem.StatusUnchanged, "processed less than 30 minutes ago")
			f.clock.advance(6 * time.Minute)
			f.expect(two.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Modified: 1, Unchanged: 2})
		})
	}
}
