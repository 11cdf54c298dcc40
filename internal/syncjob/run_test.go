package syncjob_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func entries(status syncitem.Status, names ...string) []syncjob.LedgerEntry {
	out := make([]syncjob.LedgerEntry, len(names))
	for i, name := range names {
		out[i] = syncjob.LedgerEntry{SourceID: name, Path: name + ".md", Status: status, SourceVersion: "v1", PipelineVersion: 1}
	}
	return out
}

func TestClaimIncrementsTheAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	run := f.claim(job)
	if run.Attempt() != 1 || run.Job().Status != entjob.StatusRunning || run.Job().StartedAt == nil {
		t.Errorf("taken as %+v", run.Job())
	}
	if _, err := f.jobs.Claim(f.Context(), queue.Sync{JobID: job.ID}); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a second delivery of the task: %v", err)
	}
	if _, err := f.jobs.Claim(f.Context(), queue.Sync{JobID: uuid.New()}); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a task of no job: %v", err)
	}
	f.clock.advance(minute)
	second := f.claim(f.job(job.ID))
	if second.Attempt() != 2 || !second.Job().StartedAt.Equal(*run.Job().StartedAt) {
		t.Errorf("taken over as %+v", second.Job())
	}
	f.must(second.Complete(f.Context()))
	if _, err := f.jobs.Claim(f.Context(), queue.Sync{JobID: job.ID, Attempt: 2}); !errors.Is(err, syncjob.ErrStale) {
		t.Errorf("a task of a job that is over: %v", err)
	}
}

func TestAnOldAttemptWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	old := f.claim(job)
	held, release := old.Hold(f.Context())
	defer release()
	f.must(old.Record(f.Context(), entries(syncitem.StatusUnchanged, "a")))
	f.claim(f.job(job.ID)) // another worker takes it over
	before := f.job(job.ID)

	for name, err := range map[string]error{
		"record":   old.Record(f.Context(), entries(syncitem.StatusFailed, "a", "b")),
		"save":     old.SavePage(f.Context(), "far", true),
		"release":  old.Release(f.Context(), 0, 0),
		"complete": old.Complete(f.Context()),
		"fail":     old.Fail(f.Context(), "no", true),
		"stop":     old.Stop(f.Context(), "no"),
	} {
		if !errors.Is(err, syncjob.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	<-held.Done()
	after := f.job(job.ID)
	if after.Attempt != before.Attempt || after.Cursor != "" || after.Walked || after.Status != entjob.StatusRunning {
		t.Errorf("the row became %+v", after)
	}
	items, err := f.db.Ent.SyncItem.Query().All(f.ctx)
	f.must(err)
	if len(items) != 1 || items[0].Status != syncitem.StatusUnchanged {
		t.Errorf("the ledger became %v", items)
	}
	if row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID); err != nil || row.Status != connector.StatusActive || row.LastError != nil {
		t.Errorf("the connector became %v, %v", row, err)
	}
}

func TestCountersFollowTheLedgerThroughTakeovers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	run := f.claim(job)
	f.must(run.Record(f.Context(), entries(syncitem.StatusUnchanged, "a", "b", "c")))
	f.must(run.Record(f.Context(), entries(syncitem.StatusPending, "d", "e")))
	f.must(run.Record(f.Context(), entries(syncitem.StatusFailed, "d")))
	// The worker dies before it has counted the outcomes. The next worker counts
	// them.
	run = f.claim(f.job(job.ID))
	want := syncjob.Counters{Collected: 5, Unchanged: 3, Failed: 1}
	if got := run.Counters(); got != want {
		t.Errorf("counted %+v", got)
	}
	f.must(run.Record(f.Context(), entries(syncitem.StatusSkipped, "e")))
	f.must(run.Complete(f.Context()))
	got := f.job(job.ID)
	want.Skipped = 1
	if syncjob.CountersOf(got) != want || got.Status != entjob.StatusPartial || got.FinishedAt == nil {
		t.Errorf("the job ended as %+v", got)
	}
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if row.LastSync == nil || row.LastError == nil || !strings.Contains(*row.LastError, "1 of 5") || row.Status != connector.StatusActive {
		t.Errorf("the connector became %+v", row)
	}
}

func TestLookUpReturnsTheStateOfItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.claim(f.start())
	f.must(first.Record(f.Context(), entries(syncitem.StatusSkipped, "a")))
	f.must(first.Complete(f.Context()))
	f.queue.take()
	run := f.claim(f.start())
	f.must(run.Record(f.Context(), entries(syncitem.StatusPending, "b")))
	// A pending entry keeps the source version of the last outcome.
	f.must(run.Record(f.Context(), []syncjob.LedgerEntry{{SourceID: "a", Path: "a.md", Status: syncitem.StatusPending, SourceVersion: "v2"}}))
	known, err := run.LookUp(f.Context(), []string{"a", "b", "c"})
	f.must(err)
	if k := known["a"]; !k.Listed || !k.Seen || k.Status != syncitem.StatusPending || k.SourceVersion != "v1" || k.PipelineVersion != 1 || k.Decided() {
		t.Errorf("a is %+v", k)
	}
	if k := known["b"]; !k.Seen || k.Decided() || k.Live() {
		t.Errorf("b is %+v", k)
	}
	if k, ok := known["c"]; !ok || k.Listed || k.Seen {
		t.Errorf("c is %+v", k)
	}
}

func TestReasonsAndWarningsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	run := f.claim(job)
	long := entries(syncitem.StatusFailed, "a")
	long[0].Reason = strings.Repeat("ü", 3000) + "\x00\xff"
	f.must(run.Record(f.Context(), long))
	for i := range 300 {
		run.Warn(fmt.Sprintf("warning %d", i%250))
	}
	run.Warn(strings.Repeat("x", 5000))
	f.must(run.Complete(f.Context()))
	if got := f.job(job.ID).Warnings; len(got) != 100 || got[0] != "warning 0" || !strings.Contains(got[99], "more warnings") {
		t.Errorf("%d warnings, the last %q", len(got), got[len(got)-1])
	}
	item, err := f.db.Ent.SyncItem.Query().Only(f.ctx)
	f.must(err)
	if item.Reason == nil || len(*item.Reason) != 2000 {
		t.Errorf("the reason is %v", item.Reason)
	}
}

func TestFailUpdatesTheConnector(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct {
		needsAuth bool
		want      connector.Status
	}{{false, connector.StatusError}, {true, connector.StatusNeedsAuth}} {
		job := f.start()
		f.must(f.claim(job).Fail(f.Context(), "The bucket does not exist.", c.needsAuth))
		got := f.job(job.ID)
		row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
		f.must(err)
		if got.Status != entjob.StatusFailed || got.Error == nil || *got.Error != "The bucket does not exist." ||
			row.Status != c.want || row.LastError == nil || row.LastSync != nil {
			t.Errorf("job %+v, connector %+v", got, row)
		}
	}
	f.must(f.claim(f.start()).Complete(f.Context()))
	if row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID); err != nil || row.Status != connector.StatusActive || row.LastError != nil || row.LastSync == nil {
		t.Errorf("after a good sync the connector is %+v, %v", row, err)
	}
}

func TestSweepRequeuesAbandonedJobsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	alive := f.start()
	f.row = f.connector()
	dead := f.start()
	f.row = f.connector()
	suspended := f.start()
	f.claim(dead)
	f.must(f.claim(suspended).Release(f.Context(), 10*minute, 1))
	f.queue.take()
	f.clock.advance(minute)
	run := f.claim(f.job(alive.ID))

	if n, err := f.jobs.Sweep(f.Context(), f.queue, 45*second); err != nil || n != 1 {
		t.Fatalf("swept %d, %v", n, err)
	}
	if got := f.queue.take(); len(got) != 1 || got[0] != (queue.Sync{JobID: dead.ID, Attempt: 2}) {
		t.Errorf("enqueued %v", got)
	}
	f.must(run.SavePage(f.Context(), "1", false))

	// A task that is still in the queue stays there.
	f.clock.advance(minute)
	f.queue.waiting = true
	if n, err := f.jobs.Sweep(f.Context(), f.queue, 45*second); err != nil || n != 0 {
		t.Fatalf("swept %d waiting jobs, %v", n, err)
	}
	f.queue.waiting = false
	if n, err := f.jobs.Sweep(f.Context(), f.queue, 45*second); err != nil || n != 0 {
		t.Fatalf("swept %d jobs at once after they were looked at, %v", n, err)
	}
	f.clock.advance(10 * minute)
	if n, err := f.jobs.Sweep(f.Context(), f.queue, 45*second); err != nil || n != 3 {
		t.Fatalf("swept %d jobs that everybody forgot, %v", n, err)
	}
}

func TestReleaseQueuesTheNextSlice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	job := f.start()
	f.queue.take()
	run := f.claim(job)
	f.must(run.SavePage(f.Context(), "page 2", false))
	f.must(run.Release(f.Context(), minute, 3))
	if got := f.queue.take(); len(got) != 1 || got[0] != (queue.Sync{JobID: job.ID, Attempt: 1, Delay: minute}) {
		t.Errorf("enqueued %v", got)
	}
	got := f.job(job.ID)
	if got.Cursor != "page 2" || got.Retries != 3 || !got.HeartbeatAt.Equal(f.clock.now().Add(minute)) || got.Status != entjob.StatusRunning {
		t.Errorf("the row is %+v", got)
	}
	f.must(f.claim(got).SavePage(f.Context(), "page 3", true))
	if got := f.job(job.ID); got.Retries != 0 || !got.Walked {
		t.Errorf("after progress the row is %+v", got)
	}
}

func TestEachEndIsToldOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var ended []syncjob.Snapshot
	f.jobs = syncjob.New(f.db.Ent, f.queue, f.bus, f.clock.now, syncjob.WithEnded(func(s syncjob.Snapshot) { ended = append(ended, s) }))
	t.Cleanup(f.jobs.Close)
	f.must(f.claim(f.start()).Complete(t.Context()))
	f.row = f.connector()
	job := f.start()
	for range 2 {
		_, err := f.jobs.Cancel(f.ctx, job.ID)
		f.must(err)
	}
	if len(ended) != 2 || ended[0].Status != entjob.StatusCompleted || ended[1].Status != entjob.StatusCanceled || ended[1].Job != job.ID {
		t.Errorf("told of %+v", ended)
	}
}
