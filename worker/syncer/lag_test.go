package syncer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func (f *fixture) freshness() syncjob.Freshness {
	f.Helper()
	found, err := f.jobs.Freshness(f.ctx, []uuid.UUID{f.row.ID})
	f.must(err)
	return found[f.row.ID]
}

// near reports whether seconds are about a duration, with a margin for the test
// itself.
func near(seconds float64, want time.Duration) bool {
	return seconds >= want.Seconds()*0.8 && seconds <= want.Seconds()+60
}

// about reports whether a number of changes is right. Two may count twice, when the
// database is slow to confirm.
func about(changes, want int) bool { return changes >= want && changes <= want+2 }

func TestFreshnessCountsFromTheChangeAtTheSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	old := f.clock.now().Add(-1000 * time.Hour)
	f.script.fill(10, "v1")
	for _, path := range names(0, 10) {
		f.script.change(path, func(f *file) { f.Created = old })
	}
	f.sync(auto())
	// An old item that is new to the sync has no lag.
	if w := f.freshness(); !about(w.Day.Changes, 10) || w.Week != w.Day || w.Day.Max > 60 || w.Waiting != 0 || !w.OldestWaiting.IsZero() {
		t.Errorf("at first: %+v", w)
	}
	f.clock.advance(10 * time.Hour)
	changed := f.clock.now().Add(-2 * time.Hour)
	f.script.set("doc-0000.md", "v2", "# New\n\nA new text.\n")
	f.script.change("doc-0000.md", func(f *file) { f.Created = changed })
	f.script.set("new.md", "v1", "# New\n\nA new file.\n")
	f.script.change("new.md", func(f *file) { f.Created = changed })
	f.script.set("doc-0001.md", "v2", "# New\n\nIt is not known when it changed.\n")
	f.script.change("doc-0001.md", func(f *file) { f.Created = time.Time{} })
	f.script.set("doc-0002.md", "v2", "# New\n\nIts clock is ahead.\n")
	f.script.change("doc-0002.md", func(file *file) { file.Created = f.clock.now().Add(time.Hour) })
	f.sync(auto())
	w := f.freshness()
	if !about(w.Day.Changes, 14) || !near(w.Day.Max, 2*time.Hour) || w.Day.P50 > 60 || !near(w.Day.P95, 2*time.Hour) {
		t.Errorf("after changes: %+v", w)
	}
	// A full sync of the same version is not a change.
	f.sync(full())
	if again := f.freshness(); again.Day.Changes != w.Day.Changes {
		t.Errorf("after a full sync: %+v", f.freshness())
	}
	f.clock.advance(30 * time.Hour)
	if w := f.freshness(); w.Day.Changes != 0 || !about(w.Week.Changes, 14) {
		t.Errorf("a day later: %+v", w)
	}
	f.clock.advance(9 * 24 * time.Hour)
	_, err := f.jobs.Trim(f.system(), 0)
	f.must(err)
	var rows int
	f.must(f.db.Pool.QueryRow(f.Context(), "select count(*) from freshness").Scan(&rows))
	if w := f.freshness(); w.Week.Changes != 0 || rows != 0 {
		t.Errorf("at last: %+v, %d rows", w, rows)
	}
	if _, err := f.jobs.Freshness(f.ctx, nil); err == nil {
		t.Error("a workspace read the freshness of all")
	}
	all, err := f.jobs.Freshness(f.system(), nil)
	f.must(err)
	if all[uuid.Nil].Waiting != 0 {
		t.Errorf("of all: %+v", all)
	}
}

func TestWaitingChangesCountFromTheirStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window, f.options.Retries = -1, 1
	f.work()
	f.script.fill(3, "v1")
	f.sync(auto())
	f.script.set("doc-0001.md", "v2", "# New\n\nA new text.\n")
	f.script.hooks(nil, func(_ context.Context, path string) error {
		return connectors.Retryable(errors.New("the source is away"), 0)
	})
	f.sync(auto())
	w := f.freshness()
	if w.Waiting != 1 || w.OldestWaiting.IsZero() {
		t.Fatalf("one waits: %+v", w)
	}
	f.clock.advance(3 * time.Hour)
	f.sync(auto())
	if again := f.freshness(); !again.OldestWaiting.Equal(w.OldestWaiting) {
		t.Errorf("it waits since %s, then since %s", w.OldestWaiting, again.OldestWaiting)
	}
	f.script.hooks(nil, nil)
	f.sync(auto())
	if w := f.freshness(); w.Waiting != 0 || !near(w.Day.Max, 3*time.Hour) {
		t.Errorf("done: %+v", w)
	}
}

func TestJobsHaveTheirEffortAndConnectorsTheirHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.options.Retries = 1
	f.script.PageSize = 5
	f.work()
	f.script.fill(10, "v1")
	broken := false
	f.script.hooks(func(_ context.Context, cursor string) error {
		if cursor != "" && !broken {
			broken = true
			return errors.New("once")
		}
		return nil
	}, nil)
	job := f.sync(auto())
	if job.Pages != 2 || job.BytesFetched < 100 || job.Retried != 1 || job.Cause != entjob.CauseManual {
		t.Errorf("the job is %+v", job)
	}
	if took, ok := syncjob.Duration(job, f.clock.now()); !ok || took < 0 || took > time.Minute {
		t.Errorf("it took %s", took)
	}
	f.script.hooks(func(context.Context, string) error { return connectors.Fatal(errors.New("no such bucket")) }, nil)
	if failed := f.sync(auto()); failed.Status != entjob.StatusFailed {
		t.Fatalf("%s", failed.Status)
	}
	f.script.hooks(nil, nil)
	f.plan(auto())
	found, err := f.jobs.History(f.ctx, []uuid.UUID{f.row.ID})
	f.must(err)
	h := found[f.row.ID]
	rate, _ := h.SuccessRate()
	if h.Total() != 2 || h.Completed != 1 || h.Failed != 1 || rate != 0.5 || h.Bytes != job.BytesFetched || h.Retried != 1 || h.Added != 10 ||
		h.LastSuccess.IsZero() || h.LastFailure.Before(h.LastSuccess) {
		t.Errorf("the history is %+v", h)
	}
	if mean, ok := h.MeanDuration(); !ok || mean <= 0 || mean > time.Minute {
		t.Errorf("a sync takes %s", mean)
	}
	// Old jobs are removed, the newest stay.
	for range 25 {
		f.must(f.db.Ent.SyncJob.Create().SetConnectorID(f.row.ID).SetStatus(entjob.StatusCompleted).SetFinishedAt(time.Now()).Exec(f.ctx))
	}
	f.clock.advance(100 * 24 * time.Hour)
	if n, err := f.jobs.Trim(f.system(), 90*24*time.Hour); err != nil || n != 8 {
		t.Errorf("removed %d jobs, %v", n, err)
	}
}
