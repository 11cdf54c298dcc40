package syncjob_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// startIn queues a job of a new connector of a workspace.
func (f *fixture) startIn(workspace context.Context) queue.Sync {
	f.Helper()
	f.clock.advance(time.Millisecond) // so that jobs have an order
	saved := f.ctx
	f.ctx = workspace
	defer func() { f.ctx = saved }()
	job, err := f.jobs.Start(workspace, f.connector().ID, syncjob.StartOptions{})
	f.must(err)
	return queue.Sync{JobID: job.ID, Attempt: job.Attempt}
}

// next claims the job whose turn it is, with a task.
func (f *fixture) next(t queue.Sync) *syncjob.Run {
	f.Helper()
	run, err := f.jobs.Next(f.Context(), t)
	f.must(err)
	f.clock.advance(time.Millisecond)
	return run
}

// A workspace with one job overtakes one with many, however long these wait, and
// whatever task arrives.
func TestTheNextJobIsOfTheWorkspaceWithTheFewestRunningJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var many []queue.Sync
	for range 50 {
		many = append(many, f.startIn(f.ctx))
	}
	first, second := f.next(many[0]), f.next(many[1])
	one := f.startIn(f.other)
	third := f.next(many[2])
	if third.Job().ID != one.JobID {
		t.Fatalf("the third place went to %s", third.Job().ID)
	}
	for _, run := range []*syncjob.Run{first, second, third} {
		f.must(run.Release(f.Context(), 0, 0))
	}
	// With one worker the workspaces alternate.
	countsItself := map[bool]int{}
	for range 10 {
		run := f.next(one)
		countsItself[run.Job().ID == one.JobID]++
		f.must(run.Release(f.Context(), 0, 0))
	}
	if countsItself[true] != 5 {
		t.Errorf("the workspace with one job had %d turns of 10", countsItself[true])
	}
}

func TestShortJobsOvertakeLongOnesForALimitedTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := f.startIn(f.ctx)
	for range 15 {
		f.must(f.next(long).Release(f.Context(), 0, 0))
	}
	began := f.clock.now()
	short := f.startIn(f.ctx)
	if run := f.next(long); run.Job().ID != short.JobID {
		t.Errorf("the short job waits behind the long one")
	}
	// New jobs keep coming; after four doublings of 30 s it is the turn of the long
	// job.
	for {
		f.clock.advance(5 * time.Second)
		f.startIn(f.ctx)
		run := f.next(short)
		if run.Job().ID == long.JobID {
			break
		}
		f.must(run.Complete(f.Context()))
		if f.clock.now().Sub(began) > 3*time.Minute {
			t.Fatal("the long job starves")
		}
	}
	if waited := f.clock.now().Sub(began); waited < time.Minute {
		t.Errorf("the long job waited %s only", waited)
	}
}

// Each of many jobs is claimed by one of as many tasks, in any order.
func TestEveryJobIsClaimed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var places []queue.Sync
	for i := range 12 {
		places = append(places, f.startIn([]context.Context{f.ctx, f.other}[i%2]))
	}
	slices.Reverse(places)
	seen := map[uuid.UUID]bool{}
	for _, place := range places {
		run := f.next(place)
		seen[run.Job().ID] = true
		f.must(run.Complete(f.Context()))
	}
	if len(seen) != 12 {
		t.Errorf("%d of 12 jobs had a turn", len(seen))
	}
	if _, err := f.jobs.Next(f.Context(), places[0]); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a place when no job waits: %v", err)
	}
}

func TestADelayedJobWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	waiting := f.startIn(f.ctx)
	f.must(f.next(waiting).Release(f.Context(), time.Minute, 0))
	if _, err := f.jobs.Next(f.Context(), waiting); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a job was taken before its time: %v", err)
	}
	// Its own task comes by the clock of the queue, which decides.
	own := queue.Sync{JobID: waiting.JobID, Attempt: 1}
	f.must(f.next(own).Release(f.Context(), time.Minute, 0))
	f.clock.advance(time.Minute)
	if run := f.next(waiting); run.Job().ID != waiting.JobID {
		t.Error("another job was taken")
	}
}

func TestAPausedConnectorKeepsItsJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	f.queue.take()
	row, err := f.jobs.Pause(f.ctx, f.row.ID)
	f.must(err)
	if row.Status != connector.StatusPaused || !row.Enabled {
		t.Errorf("the connector is %s", row.Status)
	}
	again, err := f.jobs.Pause(f.ctx, f.row.ID)
	f.must(err)
	if !again.UpdatedAt.Equal(row.UpdatedAt) {
		t.Error("a second pause changed the connector")
	}
	if _, err := f.jobs.Next(f.Context(), queue.Sync{JobID: job.ID}); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a worker takes the job of a paused connector: %v", err)
	}
	if _, err := f.jobs.Start(f.ctx, f.row.ID, syncjob.StartOptions{}); codeOf(err) != apierr.Conflict {
		t.Errorf("a sync of a paused connector: %v", err)
	}
	f.clock.advance(time.Hour)
	swept, err := f.jobs.Sweep(f.Context(), f.queue, minute)
	f.must(err)
	if swept != 0 || len(f.queue.take()) != 0 {
		t.Error("the sweeper queued the job of a paused connector")
	}
	for range 2 {
		row, err = f.jobs.Resume(f.ctx, f.row.ID)
		f.must(err)
	}
	queued := f.queue.take()
	if row.Status != connector.StatusActive || len(queued) != 1 || queued[0].JobID != job.ID {
		t.Fatalf("after the pause the connector is %s, queued %v", row.Status, queued)
	}
	run := f.next(queued[0])
	if run.Job().ID != job.ID {
		t.Error("another job was taken")
	}
	// A job that is held when the pause begins is suspended, and queued again if
	// the pause has ended by then.
	for _, over := range []bool{false, true} {
		held, release := run.Hold(f.Context())
		_, err = f.jobs.Pause(f.ctx, f.row.ID)
		f.must(err)
		<-held.Done()
		if cause := context.Cause(held); !errors.Is(cause, syncjob.ErrPaused) {
			t.Fatalf("the job was stopped by %v", cause)
		}
		release()
		f.must(run.SavePage(f.Context(), "page 7", false))
		if over {
			_, err = f.jobs.Resume(f.ctx, f.row.ID)
			f.must(err)
		}
		f.must(run.Suspend(f.Context(), 0))
		if !over {
			_, err = f.jobs.Resume(f.ctx, f.row.ID)
			f.must(err)
		}
		if now := f.job(job.ID); now.Status != entjob.StatusQueued || now.Cursor != "page 7" {
			t.Errorf("the resting job is %s at %q", now.Status, now.Cursor)
		}
		if queued = f.queue.take(); len(queued) != 1 {
			t.Fatalf("queued %v", queued)
		}
		run = f.next(queued[0])
	}
	if _, err := f.jobs.Pause(f.other, f.row.ID); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("a pause from another workspace: %v", err)
	}
	if _, err := f.jobs.Resume(f.other, f.row.ID); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("its end from another workspace: %v", err)
	}
}

// No worker holds a job between two slices.
func TestCancelBetweenTwoSlicesIsImmediate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	run := f.claim(job)
	f.must(run.Release(f.Context(), time.Hour, 0))
	canceled, err := f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	if canceled.Status != entjob.StatusCanceled {
		t.Errorf("the job is %s", canceled.Status)
	}
	if err := run.SavePage(f.Context(), "x", false); !errors.Is(err, syncjob.ErrLost) {
		t.Errorf("its worker may still write: %v", err)
	}
}
