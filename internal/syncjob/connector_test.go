package syncjob_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

func (f *fixture) watchConnector(ctx context.Context, connector, after uuid.UUID) <-chan syncjob.Snapshot {
	f.Helper()
	c, err := syncjob.WatchConnector(ctx, f.jobs, connector, after, func(s syncjob.Snapshot) syncjob.Snapshot { return s })
	f.must(err)
	return c
}

// until reads snapshots until a job is in a state, and returns them.
func (f *fixture) until(c <-chan syncjob.Snapshot, job uuid.UUID, status entjob.Status) (all []syncjob.Snapshot) {
	f.Helper()
	for {
		s, open := testkit.Receive(f, fmt.Sprintf("job %s to be %s after %+v", job, status, all), c)
		if !open {
			f.Fatalf("the watch ended after %+v", all)
		}
		all = append(all, s)
		if s.Job == job && s.Status == status {
			return all
		}
	}
}

// run completes a job.
func (f *fixture) run() uuid.UUID {
	f.Helper()
	f.clock.advance(time.Second)
	job := f.start()
	f.must(f.claim(job).Complete(f.Context()))
	return job.ID
}

// inOrder checks that the jobs come one after the other, each through its states.
func inOrder(t *testing.T, all []syncjob.Snapshot, jobs ...uuid.UUID) {
	t.Helper()
	at, rank := 0, map[entjob.Status]int{entjob.StatusQueued: 0, entjob.StatusRunning: 1, entjob.StatusCompleted: 2}
	last := -1
	for _, s := range all {
		if at < len(jobs)-1 && s.Job == jobs[at+1] {
			if last != 2 {
				t.Errorf("a job is followed by the next one in state %d: %+v", last, all)
			}
			at, last = at+1, -1
		}
		if s.Job != jobs[at] || rank[s.Status] < last {
			t.Errorf("%s %s comes after state %d of job %d", s.Job, s.Status, last, at)
		}
		last = rank[s.Status]
	}
	if at != len(jobs)-1 || last != 2 {
		t.Errorf("it ends with state %d of job %d", last, at)
	}
}

func TestWatchConnectorFollowsItsJobs(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} { // with Redis, and without
		f := newFixture(t)
		if away {
			f.must(f.redis.Close())
		}
		c := f.watchConnector(f.ctx, f.row.ID, uuid.Nil)
		if first := <-c; first.Job != uuid.Nil {
			t.Errorf("never synced: %+v", first)
		}
		one := f.run()
		all := f.until(c, one, entjob.StatusCompleted)
		two := f.run()
		three := f.run()
		all = append(all, f.until(c, three, entjob.StatusCompleted)...)
		inOrder(t, all, one, two, three)
		missedAfter := f.watchConnector(f.ctx, f.row.ID, uuid.Nil)
		if s := <-missedAfter; s.Job != three || s.Status != entjob.StatusCompleted {
			t.Errorf("the present state is %+v", s)
		}
		f.must(f.db.Ent.Connector.DeleteOneID(f.row.ID).Exec(f.ctx))
		for range c { // wait for the end
		}
	}
}

func TestAReconnectedWatcherMissesNoJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	ctx, leave := context.WithCancel(f.ctx)
	c := f.watchConnector(ctx, f.row.ID, uuid.Nil)
	if s := <-c; s.Job != job.ID || s.Status != entjob.StatusQueued {
		t.Fatalf("%+v", s)
	}
	leave()
	for range c {
	}
	f.must(f.claim(job).Complete(f.Context()))
	two, three := f.run(), f.run()
	back := f.watchConnector(f.ctx, f.row.ID, job.ID)
	for _, want := range []uuid.UUID{job.ID, two, three} {
		if s := <-back; s.Job != want || s.Status != entjob.StatusCompleted {
			t.Errorf("%s %s, not %s", s.Job, s.Status, want)
		}
	}
	// A job that is deleted, or one of another connector, means the newest job.
	f.row = f.connector()
	other := f.run()
	if s := <-f.watchConnector(f.ctx, f.row.ID, three); s.Job != other {
		t.Errorf("%+v", s)
	}
}

func TestConnectorsOfOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	same := func(s syncjob.Snapshot) syncjob.Snapshot { return s }
	if _, err := syncjob.WatchConnector(f.other, f.jobs, f.row.ID, uuid.Nil, same); codeOf(err) != apierr.CodeNotFound {
		t.Errorf("another workspace: %v", err)
	}
	if _, err := syncjob.WatchConnector(f.Context(), f.jobs, f.row.ID, uuid.Nil, same); err == nil {
		t.Error("nobody may watch")
	}
}

func TestManyWatchersOfManyJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must(f.redis.Close()) // only the poll remains
	const many = 200
	jobs, channels := make([]uuid.UUID, 10), make([]<-chan syncjob.Snapshot, many)
	for i := range jobs {
		f.row = f.connector()
		jobs[i] = f.start().ID
	}
	for i := range channels {
		channels[i] = f.watch(jobs[i%len(jobs)])
		<-channels[i]
	}
	for _, id := range jobs {
		f.must(f.claim(f.job(id)).Complete(f.Context()))
	}
	for i, c := range channels {
		states, last := statuses(c)
		if len(states) != 2 || last.Job != jobs[i%len(jobs)] || last.Status != entjob.StatusCompleted {
			t.Fatalf("watcher %d: %v %+v", i, states, last)
		}
	}
}
