package syncjob_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func TestWaitingForSaysWhatAJobWaitsFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	check := func(when string, id uuid.UUID, want syncjob.WaitReason) syncjob.Wait {
		t.Helper()
		w, err := f.jobs.WaitingFor(f.ctx, f.job(id))
		f.must(err)
		if w.Reason != want {
			t.Errorf("%s it waits for %q, want %q", when, w.Reason, want)
		}
		return w
	}
	job := f.start().ID
	check("at once", job, syncjob.WaitTurn)
	f.clock.advance(minute)
	check("without a worker", job, syncjob.WaitWorker)

	other := f.row
	f.row = f.connector()
	busy := f.claim(f.start())
	check("while another job runs", job, syncjob.WaitTurn)
	f.must(busy.Complete(f.Context()))
	f.row = other

	run := f.claim(f.job(job))
	check("with a worker", job, syncjob.WaitNothing)
	f.must(run.ReleaseAtPace(f.Context(), 5*minute, 0))
	if w := check("at the platform's pace", job, syncjob.WaitPace); !w.Until.Equal(f.clock.now().Add(5 * minute)) {
		t.Errorf("it waits until %v", w.Until)
	}
	f.clock.advance(5 * minute)
	run = f.claim(f.job(job))
	f.must(run.Release(f.Context(), minute, 1))
	check("after a failure", job, syncjob.WaitRetry)
	f.must(f.db.Ent.Connector.UpdateOneID(f.row.ID).SetStatus(connector.StatusPaused).Exec(f.ctx))
	check("while the connector is paused", job, syncjob.WaitResume)
	f.must(f.db.Ent.Connector.UpdateOneID(f.row.ID).SetStatus(connector.StatusActive).Exec(f.ctx))
	f.clock.advance(minute)
	run = f.claim(f.job(job))
	f.clock.advance(10 * minute)
	check("when its worker died", job, syncjob.WaitWorker)
	f.must(run.Complete(f.Context()))
	check("after its end", job, syncjob.WaitNothing)
}
