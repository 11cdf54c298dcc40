package syncer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// noFence is the fence of writes outside of jobs.
var noFence index.Fence

func (f *fixture) system() context.Context {
	return viewer.With(f.Context(), viewer.System(uuid.Nil))
}

func (f *fixture) reread() *ent.Connector {
	f.Helper()
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	return row
}

func (f *fixture) pending() *syncjob.PendingDeletion {
	f.Helper()
	found, err := f.jobs.PendingDeletions(f.ctx, []uuid.UUID{f.row.ID})
	f.must(err)
	return found[f.row.ID]
}

func names(from, to int) (paths []string) {
	for i := from; i < to; i++ {
		paths = append(paths, fmt.Sprintf("doc-%04d.md", i))
	}
	return paths
}

// held returns the paths of the ledger entries with a hold.
func (f *fixture) held(hold syncitem.Hold) (paths []string) {
	f.Helper()
	for path, line := range f.ledger() {
		if line.Hold != nil && *line.Hold == hold {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

func conflicts(t *testing.T, what string, err error) {
	t.Helper()
	if apierr.From(err).Code != apierr.Conflict {
		t.Errorf("%s: %v", what, err)
	}
}

func TestALargeDeletionWaitsUntilItIsApproved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(20, "v1")
	f.sync(auto())
	_, err := f.jobs.ApproveDeletion(f.ctx, f.row.ID)
	conflicts(t, "nothing to approve", err)
	_, err = f.jobs.DismissDeletion(f.ctx, f.row.ID)
	conflicts(t, "nothing to dismiss", err)

	f.script.remove(names(0, 13)...)
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 7, Unchanged: 7})
	if len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "13 of 20 documents") || !strings.Contains(job.Warnings[0], "more than half") {
		t.Errorf("warnings %q", job.Warnings)
	}
	first := f.pending()
	if first == nil || first.Documents != 13 || first.Job != job.ID || first.Existing != 20 || first.Threshold != 50 || f.live() != 20 {
		t.Fatalf("in quarantine: %+v", first)
	}
	// The next sync keeps the time. Items that come back leave the quarantine.
	f.clock.advance(time.Hour)
	f.script.set("doc-0012.md", "v2", "# Back\n\nIn a new version.\n")
	job = f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 8, Unchanged: 7, Modified: 1})
	second := f.pending()
	if second == nil || second.Documents != 12 || !second.Since.Equal(first.Since) || second.Job != job.ID {
		t.Fatalf("in quarantine: %+v after %+v", second, first)
	}
	approved, err := f.jobs.ApproveDeletion(f.ctx, f.row.ID)
	f.must(err)
	last := f.reread().LastSync
	approved = f.wait(approved.ID)
	f.expect(approved, entjob.StatusCompleted, syncjob.Counters{Deleted: 12})
	if f.live() != 8 || f.pending() != nil || len(f.held(syncitem.HoldQuarantined)) != 0 || !f.reread().LastSync.Equal(*last) {
		t.Errorf("after the approval: %d live, %+v", f.live(), f.pending())
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 8, Unchanged: 8})
	// The deletions of that job can be restored.
	back, err := f.jobs.RestoreDeletions(f.ctx, f.row.ID, approved.ID)
	f.must(err)
	f.expect(f.wait(back.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 12, Added: 12})
	if f.live() != 20 {
		t.Errorf("%d live", f.live())
	}
}

func TestADeletionUpToTheThresholdIsDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		threshold any
		missing   int
		done      bool
	}{{nil, 10, true}, {nil, 11, false}, {50.0, 10, true}, {20.0, 4, true}, {20.0, 5, false}, {1.0, 1, false}} {
		f := newFixture(t)
		if c.threshold != nil {
			f.row = f.connector("scripted", map[string]any{"deletion_threshold": c.threshold})
		}
		f.options.Window = -1
		f.work()
		f.script.fill(20, "v1")
		f.sync(auto())
		f.script.remove(names(0, c.missing)...)
		job := f.sync(auto())
		want := syncjob.Counters{Collected: 20 - c.missing, Unchanged: 20 - c.missing}
		if c.done {
			want.Deleted = c.missing
		}
		f.expect(job, entjob.StatusCompleted, want)
		if (f.pending() == nil) != c.done {
			t.Errorf("%v%% and %d missing: %+v", c.threshold, c.missing, f.pending())
		}
	}
}

func TestADismissedDeletionStaysDismissed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(20, "v1")
	f.sync(auto())
	f.script.remove(names(0, 12)...)
	f.sync(auto())
	if n, err := f.jobs.DismissDeletion(f.ctx, f.row.ID); n != 12 || err != nil {
		t.Fatalf("dismissed %d, %v", n, err)
	}
	for range 2 {
		job := f.sync(auto())
		if f.pending() != nil || f.live() != 20 || len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "dismissed") {
			t.Fatalf("the same deletion: %+v %q", f.pending(), job.Warnings)
		}
	}
	// A part of the same documents is not a new deletion.
	f.script.set("doc-0000.md", "v1", "# Document 0\n\nVersion v1 of the text of document 0.\n")
	f.sync(auto())
	if got := f.held(syncitem.HoldDismissed); f.pending() != nil || len(got) != 11 {
		t.Errorf("one of them came back: %+v, held %v", f.pending(), got)
	}
	// One more document makes a new deletion.
	f.script.remove("doc-0019.md")
	f.sync(auto())
	if p := f.pending(); p == nil || p.Documents != 12 || len(f.held(syncitem.HoldDismissed)) != 0 {
		t.Fatalf("one more is missing: %+v", p)
	}
	_, err := f.jobs.DismissDeletion(f.ctx, f.row.ID)
	f.must(err)
	// Below the threshold the sync deletes them.
	f.script.fill(9, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 16, Unchanged: 16, Deleted: 4})
	if f.pending() != nil || f.live() != 16 || len(f.held(syncitem.HoldDismissed)) != 0 {
		t.Errorf("at the end: %+v, %d live", f.pending(), f.live())
	}
}

func TestAQuarantineEndsWhenEverythingIsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(10, "v1")
	f.sync(auto())
	f.script.remove(names(0, 10)...)
	f.sync(auto())
	if p := f.pending(); p == nil || p.Documents != 10 {
		t.Fatalf("in quarantine: %+v", p)
	}
	f.script.fill(10, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 10, Unchanged: 10})
	if f.pending() != nil || len(f.held(syncitem.HoldQuarantined)) != 0 {
		t.Errorf("in quarantine: %+v", f.pending())
	}
	var rows int
	f.must(f.db.Pool.QueryRow(f.Context(), "select count(*) from quarantines").Scan(&rows))
	if rows != 0 {
		t.Error("the quarantine was not ended")
	}
}

func TestARestoredDocumentStaysUntilItsItemIsListed(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"scripted", "resolving"} {
		f := newFixture(t)
		f.row = f.connector(kind, nil)
		f.options.Window = -1
		f.work()
		f.script.fill(10, "v1")
		f.sync(auto())
		f.script.remove(names(0, 3)...)
		deletions := f.sync(auto())
		f.expect(deletions, entjob.StatusCompleted, syncjob.Counters{Collected: 7, Unchanged: 7, Deleted: 3})
		_, err := f.jobs.RestoreDeletions(f.ctx, uuid.New(), deletions.ID)
		if apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("of another connector: %v", err)
		}
		back, err := f.jobs.RestoreDeletions(f.ctx, f.row.ID, deletions.ID)
		f.must(err)
		f.expect(f.wait(back.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Added: 3})
		if f.live() != 10 || !strings.Contains(f.text("doc-0000.md"), "text of document 0") {
			t.Errorf("%d live", f.live())
		}
		_, err = f.jobs.RestoreDeletions(f.ctx, f.row.ID, deletions.ID)
		conflicts(t, "twice", err)
		// No sync deletes them, complete or selective.
		f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Unchanged: 7})
		f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Modified: 7})
		f.expect(f.sync(incremental("doc-0001.md")), entjob.StatusCompleted, syncjob.Counters{})
		if f.live() != 10 || len(f.held(syncitem.HoldRestored)) != 3 {
			t.Fatalf("%d live, held %v", f.live(), f.held(syncitem.HoldRestored))
		}
		if p := f.plan(auto()); p.Counts["KEEP"] != 3 {
			t.Errorf("the plan: %v", p.Counts)
		}
		// Once the item was listed, the document is like any other.
		f.script.set("doc-0001.md", "v1", "# Document 1\n\nVersion v1 of the text of document 1.\n")
		f.sync(auto())
		f.script.remove("doc-0001.md")
		f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Unchanged: 7, Deleted: 1})
		// A document that is deleted by hand stays deleted.
		line := f.ledger()["doc-0002.md"]
		f.must(f.db.Ent.SyncItem.UpdateOne(line).SetSuppressed(true).SetStatus(syncitem.StatusDeleted).ClearHold().Exec(f.ctx))
		_, err = f.index.SoftDelete(f.ctx, f.scope, noFence, []uuid.UUID{*line.DocumentID})
		f.must(err)
		f.sync(auto())
		if f.live() != 8 {
			t.Errorf("%d live", f.live())
		}
	}
}

func TestRestoredDocumentsAreCountedOnceAcrossAttempts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window, f.options.SlicePages = -1, 1
	f.row = f.connector("scripted", nil)
	stop := f.work()
	f.script.PageSize = 500
	f.script.fill(1300, "v1")
	f.sync(auto())
	f.script.remove(names(0, 640)...)
	f.sync(auto())
	stop()
	f.work()
	deletions := f.latest()
	if deletions.Deleted != 640 {
		t.Fatalf("deleted %d", deletions.Deleted)
	}
	back, err := f.jobs.RestoreDeletions(f.ctx, f.row.ID, deletions.ID)
	f.must(err)
	f.expect(f.wait(back.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 640, Added: 640})
	if f.live() != 1300 {
		t.Errorf("%d live", f.live())
	}
}

func (f *fixture) latest() *ent.SyncJob {
	f.Helper()
	found, err := f.jobs.Latest(f.ctx, []uuid.UUID{f.row.ID})
	f.must(err)
	return found[f.row.ID]
}

// suppress deletes a document by hand.
func (f *fixture) suppress(path string) {
	f.Helper()
	line := f.ledger()[path]
	if line == nil || line.DocumentID == nil {
		f.Fatalf("%s has no document", path)
		return
	}
	f.must(f.db.Ent.SyncItem.UpdateOne(line).SetSuppressed(true).SetStatus(syncitem.StatusDeleted).SetReason("deleted by hand").Exec(f.ctx))
	_, err := f.index.SoftDelete(f.ctx, f.scope, noFence, []uuid.UUID{*line.DocumentID})
	f.must(err)
}

func TestNoPathBringsASuppressedItemBack(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"scripted", "resolving", "unbounded"} {
		f := newFixture(t)
		f.row = f.connector(kind, nil)
		f.options.Window = -1
		f.work()
		f.script.fill(3, "v1")
		f.script.set("bundle.zip", "v1", zipFiles(t, "a.md", "# A\n\nOne.\n", "b.md", "# B\n\nTwo.\n"))
		f.sync(auto())
		f.suppress("doc-0001.md")
		f.suppress("bundle.zip/a.md")
		gone := func(when string) {
			t.Helper()
			for _, path := range []string{"doc-0001.md", "bundle.zip/a.md"} {
				if d := f.documents()[path]; d.Status != document.StatusDeleted {
					t.Errorf("%s, %s: %s is %s", kind, when, path, d.Status)
				}
				if line := f.ledger()[path]; !line.Suppressed {
					t.Errorf("%s, %s: %s lost its tombstone", kind, when, path)
				}
			}
		}
		f.sync(auto())
		gone("auto")
		f.sync(full())
		gone("full")
		f.script.set("doc-0001.md", "v2", "# New\n\nA new version.\n")
		f.script.set("bundle.zip", "v2", zipFiles(t, "a.md", "# A\n\nNew.\n", "b.md", "# B\n\nNew.\n"))
		f.sync(incremental("doc-0001.md", "bundle.zip"))
		gone("incremental by path, as of a webhook")
		if kind == "scripted" { // the items of the others are known only by their paths
			f.script.set("bundle.zip", "v3", zipFiles(t, "b.md", "# B\n\nOnly.\n"))
			f.sync(auto())
			f.script.set("bundle.zip", "v4", zipFiles(t, "a.md", "# A\n\nAgain.\n", "b.md", "# B\n\nOnly.\n"))
			f.sync(auto())
			gone("an archive that had lost it in between")
		}
		f.script.remove("doc-0001.md")
		f.sync(incremental("doc-0001.md"))
		f.script.set("doc-0001.md", "v3", "# Back\n\nThe source has it again.\n")
		f.sync(auto())
		gone("gone from the source and back")
	}
}

func TestDeletedDocumentsArePurgedAfterTheirRetention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(10, "v1")
	f.sync(auto())
	f.suppress("doc-0009.md")
	f.script.remove(names(0, 3)...)
	deletions := f.sync(auto())
	now := time.Now()
	if n, err := f.index.PurgeDeleted(f.Context(), now.Add(-time.Hour), 2); n != 0 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
	total := 0
	for range 3 {
		n, err := f.index.PurgeDeleted(f.Context(), now.Add(time.Hour), 2)
		f.must(err)
		total += n
	}
	if total != 4 || len(f.documents()) != 6 || f.live() != 6 {
		t.Errorf("purged %d, %d are left", total, len(f.documents()))
	}
	_, err := f.jobs.RestoreDeletions(f.ctx, f.row.ID, deletions.ID)
	conflicts(t, "what is purged", err)
	if line := f.ledger()["doc-0009.md"]; line == nil || !line.Suppressed {
		t.Error("the tombstone was purged with the document")
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Unchanged: 6, Skipped: 1})
}
