package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// plan runs a plan to its end on a running worker.
func (f *fixture) plan(o syncjob.StartOptions) *syncjob.PlanResult {
	f.Helper()
	job, err := f.jobs.Plan(f.ctx, f.row.ID, o)
	f.must(err)
	if job = f.wait(job.ID); job.Status != entjob.StatusCompleted {
		f.Fatalf("the plan is %s: %v %v", job.Status, job.Error, job.Warnings)
	}
	return f.planOf(job.ID)
}

func (f *fixture) planOf(id uuid.UUID) *syncjob.PlanResult {
	f.Helper()
	p, err := f.jobs.PlanOf(f.ctx, id, &f.row.ID)
	f.must(err)
	return p
}

// planItems returns the items of a plan by path.
func (f *fixture) planItems(p *syncjob.PlanResult) map[string]*ent.PlanItem {
	f.Helper()
	rows, err := f.db.Ent.PlanItem.Query().Where(planitem.JobID(p.Job.ID)).All(f.ctx)
	f.must(err)
	lines := make(map[string]*ent.PlanItem, len(rows))
	for _, row := range rows {
		lines[row.Path] = row
	}
	return lines
}

// expectPlanned checks that a sync did what the plan says. Compared items count as
// unchanged.
func (f *fixture) expectPlanned(p *syncjob.PlanResult, job *ent.SyncJob) {
	f.Helper()
	n := p.Counts
	f.expect(job, job.Status, syncjob.Counters{
		Collected: n[planitem.ActionAdd] + n[planitem.ActionModify] + n[planitem.ActionCompare] + n[planitem.ActionUnchanged] + n[planitem.ActionSkip] + n[planitem.ActionFail],
		Added:     n[planitem.ActionAdd], Modified: n[planitem.ActionModify], Deleted: n[planitem.ActionDelete],
		Unchanged: n[planitem.ActionUnchanged] + n[planitem.ActionCompare], Skipped: n[planitem.ActionSkip], Failed: n[planitem.ActionFail],
	})
	if got := f.job(p.Job.ID); got.Added != job.Added || got.Deleted != job.Deleted || got.Skipped != job.Skipped {
		f.Errorf("the plan's job counts %+v, the sync's %+v", syncjob.CountersOf(got), syncjob.CountersOf(job))
	}
}

func TestAPlanMatchesTheSyncAndChangesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"scripted", "resolving"} {
		for name, o := range map[string]syncjob.StartOptions{
			"auto": auto(), "full": full(), "force": {ForceFull: true, FileFilter: []string{"doc-0001.md"}},
			"auto of names": {FileFilter: []string{"doc-0001.md", "new.md", "doc-0007.md"}},
			"incremental":   incremental("doc-0001.md", "doc-0002.md", "doc-0008.md", "new.md", "nowhere.md"),
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.row = f.connector(kind, nil)
				f.options.Window, f.options.MaxBytes, f.options.SlicePages = -1, 1000, 1
				f.script.PageSize = 7
				f.work()
				f.script.fill(20, "v1")
				f.script.set("unversioned.md", "", "# None\n\nNo version.\n")
				f.script.set("odd.exe", "v1", "x")
				f.sync(auto())
				f.must(f.db.Ent.SyncItem.Update().Where(syncitem.Path("doc-0003.md")).SetSuppressed(true).SetStatus(syncitem.StatusDeleted).Exec(f.ctx))
				_, err := f.index.SoftDelete(f.ctx, f.scope, noFence, []uuid.UUID{f.documents()["doc-0003.md"].ID})
				f.must(err)
				f.script.set("doc-0001.md", "v2", "# Changed\n\nA new text.\n")
				f.script.set("doc-0002.md", "v2", "# Changed too\n\nA new text.\n")
				f.script.set("new.md", "v1", "# New\n\nText.\n")
				f.script.set("large.md", "v1", string(make([]byte, 2000)))
				f.script.remove("doc-0007.md", "doc-0008.md", "doc-0009.md")
				f.script.opened()
				before, connector := f.ledger(), f.reread()

				p := f.plan(o)
				if n := f.script.opened(); n != 0 {
					t.Errorf("%d items were fetched", n)
				}
				after := f.ledger()
				for path, line := range before {
					got := after[path]
					if got == nil || got.JobID != line.JobID || got.Status != line.Status || !got.UpdatedAt.Equal(line.UpdatedAt) {
						t.Errorf("the plan changed the ledger entry of %s", path)
					}
				}
				if now := f.reread(); len(after) != len(before) || !reflect.DeepEqual(now.LastSync, connector.LastSync) || f.live() != 20 {
					t.Error("the plan changed the ledger, the connector or the documents")
				}
				if latest, err := f.jobs.Latest(f.ctx, []uuid.UUID{f.row.ID}); err != nil || latest[f.row.ID].Mode == entjob.ModePlan {
					t.Errorf("the newest job is the plan (%v)", err)
				}
				f.expectPlanned(p, f.sync(o))
			})
		}
	}
}

func TestAPlanHasReasons(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(5, "v1")
	f.script.set("unversioned.md", "", "# None\n\nNo version.\n")
	f.script.set("bundle.zip", "v1", zipFiles(t, "a.md", "# A\n\nOne.\n", "b.mp4", "x"))
	f.script.set("other.zip", "v1", zipFiles(t, "c.md", "# C\n\nThree.\n"))
	f.sync(auto())
	f.script.set("other.zip", "v2", zipFiles(t, "d.md", "# D\n\nFour.\n"))
	f.script.set("odd.exe", "v1", "x")
	f.script.set("doc-0001.md", "v2", "# Changed\n\nA new text.\n")
	f.script.remove("doc-0004.md")
	p := f.plan(auto())
	lines := f.planItems(p)
	for path, want := range map[string]struct {
		action planitem.Action
		reason string
	}{
		"doc-0000.md":      {planitem.ActionUnchanged, ""},
		"doc-0001.md":      {planitem.ActionModify, ""},
		"doc-0004.md":      {planitem.ActionDelete, ""},
		"unversioned.md":   {planitem.ActionCompare, "the source does not tell whether it changed: its content is compared"},
		"odd.exe":          {planitem.ActionSkip, "format not supported"},
		"bundle.zip":       {planitem.ActionSkip, "archive: its files are documents of their own"},
		"bundle.zip/a.md":  {planitem.ActionUnchanged, ""},
		"bundle.zip/b.mp4": {planitem.ActionSkip, "format not supported"},
		"other.zip":        {planitem.ActionCompare, "an archive: its files are known only when it is read"},
		"other.zip/c.md":   {planitem.ActionCompare, "in an archive that is read again"},
	} {
		line := lines[path]
		if line == nil {
			t.Errorf("%s is not in the plan", path)
			continue
		}
		reason := ""
		if line.Reason != nil {
			reason = *line.Reason
		}
		if line.Action != want.action || !strings.HasPrefix(reason, want.reason) || want.reason == "" && reason != "" {
			t.Errorf("%s: %s because of %q", path, line.Action, reason)
		}
	}
	if line := lines["doc-0001.md"]; line != nil && (line.Version != "v2" || line.Size == 0 || line.DocumentID == nil) {
		t.Errorf("the plan item is %+v", line)
	}
	if p.Guard == nil || p.Guard.Blocked || p.Guard.Missing != 1 || p.Guard.Threshold != 50 {
		t.Errorf("the guard says %+v", p.Guard)
	}
}

func TestAPlanContinuesAndCanBeCanceled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(40, "v1")
	f.script.PageSize, f.options.SlicePages = 10, 1
	broken := 0
	f.script.hooks(func(_ context.Context, cursor string) error {
		if cursor == "doc-0019.md" && broken < 3 {
			broken++
			return errors.New("the source is away")
		}
		return nil
	}, nil)
	f.work()
	p := f.plan(auto())
	if p.Counts[planitem.ActionAdd] != 40 || f.job(p.Job.ID).Added != 40 || f.job(p.Job.ID).Collected != 40 || f.job(p.Job.ID).Retried != 3 {
		t.Errorf("%v %+v", p.Counts, f.job(p.Job.ID))
	}
	held := make(chan struct{})
	f.script.hooks(func(ctx context.Context, cursor string) error {
		if cursor != "" {
			select {
			case <-held:
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	}, nil)
	defer close(held)
	job, err := f.jobs.Plan(f.ctx, f.row.ID, auto())
	f.must(err)
	if again, err := f.jobs.Plan(f.ctx, f.row.ID, auto()); err != nil || again.ID != job.ID {
		t.Errorf("the same plan again: %v", err)
	}
	for name, start := range map[string]func() (*ent.SyncJob, error){
		"another plan": func() (*ent.SyncJob, error) { return f.jobs.Plan(f.ctx, f.row.ID, full()) },
		"a sync":       func() (*ent.SyncJob, error) { return f.jobs.Start(f.ctx, f.row.ID, auto()) },
	} {
		var e *apierr.Error
		if _, err := start(); !errors.As(err, &e) || e.Code != apierr.Conflict {
			t.Errorf("%s while one is made: %v", name, err)
		}
	}
	_, err = f.jobs.Cancel(f.ctx, job.ID)
	f.must(err)
	if got := f.wait(job.ID); got.Status != entjob.StatusCanceled {
		t.Errorf("the plan is %s", got.Status)
	}
}

func TestOldPlansAreDropped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(3, "v1")
	f.work()
	var plans []uuid.UUID
	for range 5 {
		plans = append(plans, f.plan(auto()).Job.ID)
	}
	if n, err := f.jobs.Trim(f.system(), 0); n != 2 || err != nil {
		t.Errorf("dropped %d, %v", n, err)
	}
	for i, id := range plans {
		_, err := f.jobs.PlanOf(f.ctx, id, nil)
		if gone := apierr.From(err).Code == apierr.CodeNotFound; err != nil && !gone || gone != (i < 2) {
			t.Errorf("plan %d: %v", i, err)
		}
	}
	f.clock.advance(8 * 24 * time.Hour)
	if n, err := f.jobs.Trim(f.system(), 0); n != 3 || err != nil {
		t.Errorf("after a week dropped %d, %v", n, err)
	}
	if n := f.db.Ent.PlanItem.Query().CountX(f.ctx); n != 0 {
		t.Errorf("%d plan items are left", n)
	}
}

func TestAPlanOfALargeDeletionIsBlocked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(10, "v1")
	f.sync(auto())
	for i := range 6 {
		f.script.remove(fmt.Sprintf("doc-%04d.md", i))
	}
	p := f.plan(auto())
	if p.Counts[planitem.ActionQuarantine] != 6 || p.Counts[planitem.ActionDelete] != 0 || p.Guard == nil || !p.Guard.Blocked ||
		*p.Guard != (syncjob.Guard{Blocked: true, Missing: 6, Existing: 10, Threshold: 50}) {
		t.Errorf("%v %+v", p.Counts, p.Guard)
	}
	f.expectPlanned(p, f.sync(auto()))
	if pending := f.pending(); pending == nil || pending.Documents != 6 {
		t.Errorf("in quarantine: %+v", pending)
	}
	_, err := f.jobs.DismissDeletion(f.ctx, f.row.ID)
	f.must(err)
	p = f.plan(auto())
	if p.Counts[planitem.ActionKeep] != 6 || p.Counts[planitem.ActionQuarantine] != 0 {
		t.Errorf("after it was dismissed: %v", p.Counts)
	}
	f.expectPlanned(p, f.sync(auto()))
}
