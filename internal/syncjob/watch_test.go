package syncjob_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

func (f *fixture) watch(job uuid.UUID) <-chan syncjob.Snapshot {
	f.Helper()
	c, err := f.jobs.Watch(f.ctx, job)
	f.must(err)
	return c
}

// statuses reads c to its end and returns the states in order, each once.
func statuses(c <-chan syncjob.Snapshot) (states []entjob.Status, last syncjob.Snapshot) {
	for s := range c {
		if len(states) == 0 || states[len(states)-1] != s.Status {
			states = append(states, s.Status)
		}
		last = s
	}
	return states, last
}

func TestWatchGivesEveryStateInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	c := f.watch(job.ID)
	if first := <-c; first.Status != entjob.StatusQueued || first.Job != job.ID || first.Warnings == nil {
		t.Fatalf("first came %+v", first)
	}
	run := f.claim(job)
	held, release := run.Hold(f.Context())
	for i := range 5 {
		run.Count(func(c *syncjob.Counters) { c.Collected++ })
		for s := range c {
			if s.Status == entjob.StatusRunning && s.Collected == i+1 {
				break
			}
		}
	}
	run.Announce(40)
	run.Announce(30) // the largest number counts
	for s := range c {
		if s.Announced == 40 && s.Collected == 5 {
			break
		}
	}
	release()
	if held.Err() == nil {
		t.Error("the job is still held")
	}
	f.must(run.Complete(f.Context()))
	states, last := statuses(c)
	if states[len(states)-1] != entjob.StatusCompleted || last.FinishedAt.IsZero() || last.Announced != 40 {
		t.Errorf("last came %+v", last)
	}
}

func TestWatchWithoutRedisLosesNoState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	f.must(f.redis.Close()) // nothing can be published any more
	c := f.watch(job.ID)
	if first := <-c; first.Status != entjob.StatusQueued {
		t.Fatalf("first came %+v", first)
	}
	f.must(f.claim(job).Complete(f.Context()))
	states, _ := statuses(c)
	if !slices.Equal(states, []entjob.Status{entjob.StatusRunning, entjob.StatusCompleted}) {
		t.Errorf("got %v", states)
	}
}

func TestWatchOfAnEndedJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	f.must(f.claim(job).Fail(f.Context(), "no", false))
	states, last := statuses(f.watch(job.ID))
	if !slices.Equal(states, []entjob.Status{entjob.StatusFailed}) || last.Error != "no" {
		t.Errorf("got %v, %+v", states, last)
	}
}

func TestWatchOfAQueuedJobThatIsCanceled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	c := f.watch(job.ID)
	<-c
	_, err := f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	if states, _ := statuses(c); !slices.Equal(states, []entjob.Status{entjob.StatusCanceled}) {
		t.Errorf("got %v", states)
	}
}

func TestSlowWatchersDoNotBlockOthersAndGetTheLatestState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	slow, quick := f.watch(job.ID), f.watch(job.ID)
	run := f.claim(job)
	_, release := run.Hold(f.Context())
	const n = 50
	for i := range n {
		run.Count(func(c *syncjob.Counters) { c.Collected++ })
		for s := range quick {
			if s.Collected == i+1 {
				break
			}
		}
	}
	release()
	f.must(run.Stop(f.Context(), ""))
	var got []syncjob.Snapshot
	for s := range slow {
		got = append(got, s)
	}
	// The state queued was pending from the beginning.
	if len(got) != 3 || got[0].Status != entjob.StatusQueued || got[1].Status != entjob.StatusRunning || got[2].Status != entjob.StatusCanceled {
		t.Fatalf("a slow reader got %+v", got)
	}
	if got[1].Collected < n-1 {
		t.Errorf("a slow reader got old counters: %d", got[1].Collected)
	}
	statuses(quick)
}

func TestWatchersOfAJobDoNotSeeOtherJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine := f.start()
	c := f.watch(mine.ID)
	<-c
	f.row = f.connector()
	f.must(f.claim(f.start()).Complete(f.Context()))
	f.must(f.claim(mine).Complete(f.Context()))
	for s := range c {
		if s.Job != mine.ID {
			t.Errorf("got an update of %s", s.Job)
		}
	}
}

func TestWatchEndsWithItsContextTheJobAndTheServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	ctx, cancel := context.WithCancel(f.ctx)
	c, err := f.jobs.Watch(ctx, job.ID)
	f.must(err)
	<-c
	cancel()
	if _, open := <-c; open {
		t.Error("the channel is open after its context's end")
	}
	c = f.watch(job.ID)
	<-c
	f.must(f.db.Ent.Connector.DeleteOneID(f.row.ID).Exec(f.ctx))
	if s, open := <-c; open {
		t.Errorf("a job that was deleted gave %+v", s)
	}
	f.row = f.connector()
	c = f.watch(f.start().ID)
	<-c
	f.jobs.Close()
	if _, open := <-c; open {
		t.Error("the channel is open after the server's end")
	}
	if _, err := f.jobs.Watch(f.ctx, job.ID); codeOf(err) != apierr.Unavailable {
		t.Errorf("after the server's end: %v", err)
	}
}

func TestWatchShowsJobsOfTheViewerOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	for name, ctx := range map[string]context.Context{"another workspace": f.other, "nobody": f.Context()} {
		if _, err := f.jobs.Watch(ctx, job.ID); err == nil {
			t.Errorf("%s may watch", name)
		}
		if _, err := f.jobs.Snapshot(ctx, job.ID); err == nil {
			t.Errorf("%s may look", name)
		}
	}
	if s, err := f.jobs.Snapshot(f.ctx, job.ID); err != nil || s.Status != entjob.StatusQueued {
		t.Errorf("its owner got %+v, %v", s, err)
	}
}

func TestATakeoverKeepsTheUpdatesInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	c := f.watch(job.ID)
	<-c
	old := f.claim(job)
	_, release := old.Hold(f.Context())
	for range 20 { // it has published more than it has saved
		old.Count(func(c *syncjob.Counters) { c.Collected++ })
	}
	for s := range c {
		if s.Collected == 20 {
			break
		}
	}
	run := f.claim(f.job(job.ID))
	release()
	// The new attempt counts the ledger, which is empty, whatever a heartbeat has saved.
	// A reader may see what was saved first.
	for counted := false; !counted; {
		s, _ := testkit.Receive(t, "the counters of the new attempt", c)
		counted = s.Attempt == run.Attempt() && s.Collected == 0
		if s.Attempt != run.Attempt() {
			t.Fatalf("after the takeover came %+v", s)
		}
	}
	f.must(run.Complete(f.Context()))
	if states, _ := statuses(c); states[len(states)-1] != entjob.StatusCompleted {
		t.Errorf("got %v", states)
	}
}
