package syncer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A boundary is a statement of a deletion or a restoration at which a connection
// is cut.
type boundary struct{ table, when string }

// boundaries returns the points before and after the statement on each table, and
// the commit.
func boundaries() (list []boundary) {
	for _, table := range []string{"documents", "sync_items", "sync_jobs", "collection_state", "document_changes"} {
		for _, when := range []string{"before", "after"} {
			list = append(list, boundary{table, when})
		}
	}
	return append(list, boundary{"document_changes", "commit"})
}

// arm makes the database cut the connection that reaches a boundary after skip
// others. disarm reports whether a connection was cut.
func (f *fixture) arm(admin *pgx.Conn, b boundary, skip int) (disarm func() bool) {
	f.Helper()
	ctx := f.Context()
	do := func(statement string) {
		f.Helper()
		if _, err := admin.Exec(ctx, statement); err != nil {
			f.Fatalf("%s: %v", statement, err)
		}
	}
	do("create sequence fault_count")
	do(fmt.Sprintf(`create function fault() returns trigger language plpgsql security definer as $$
		begin
			if nextval('fault_count') = %d then
				perform pg_terminate_backend(pg_backend_pid());
				perform pg_sleep(0.01);
			end if;
			return null;
		end $$`, skip+1))
	switch b.when {
	case "commit":
		do(fmt.Sprintf("create constraint trigger fault after insert or update on %s deferrable initially deferred for each row execute function fault()", b.table))
	default:
		do(fmt.Sprintf("create trigger fault %s insert or update on %s for each statement execute function fault()", b.when, b.table))
	}
	return func() bool {
		var happened bool
		f.must(admin.QueryRow(ctx, fmt.Sprintf("select is_called and last_value > %d from fault_count", skip)).Scan(&happened))
		do(fmt.Sprintf("drop trigger fault on %s", b.table))
		do("drop function fault()")
		do("drop sequence fault_count")
		return happened
	}
}

// expectConsistent checks the number of live documents, the counters of the job and
// that the ledger agrees with the documents.
func (f *fixture) expectConsistent(job *ent.SyncJob, status entjob.Status, want syncjob.Counters, live int) {
	f.Helper()
	f.expect(job, status, want)
	if n := f.live(); n != live {
		f.Errorf("%d documents are live, want %d", n, live)
	}
	ledger := f.ledger()
	for path, d := range f.documents() {
		line := ledger[path]
		if line == nil {
			f.Errorf("%s has no ledger entry", path)
			continue
		}
		if deleted := d.Status == document.StatusDeleted; deleted != (line.Status == syncitem.StatusDeleted) || deleted != (d.DeletedAt != nil) {
			f.Errorf("%s is %s and its ledger entry %s", path, d.Status, line.Status)
		}
	}
}

// Wherever the connection breaks, the documents, the ledger and the counters of the
// job agree.
func TestAnInterruptedDeletionIsExact(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	f := newFixtureOn(t, database.AppURL, testkit.Redis(t))
	f.options.Window, f.options.Retries = -1, 1000
	admin, err := pgx.Connect(t.Context(), database.AdminURL)
	f.must(err)
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	f.work()
	const all, gone = 20, 16
	f.script.fill(all, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: all, Added: all})
	happened := 0
	cut := func(b boundary, skip int, begin func() (*ent.SyncJob, error)) *ent.SyncJob {
		job, err := begin()
		f.must(err)
		disarm := f.arm(admin, b, skip)
		f.work()
		job = f.wait(job.ID)
		if disarm() {
			happened++
		}
		return job
	}
	for round, b := range boundaries() {
		f.script.remove(names(0, gone)...)
		f.sync(auto())
		if p := f.pending(); p == nil || p.Documents != gone {
			t.Fatalf("round %d: in quarantine %+v", round, p)
		}
		deleted := cut(b, 0, func() (*ent.SyncJob, error) { return f.jobs.ApproveDeletion(f.ctx, f.row.ID) })
		f.expectConsistent(deleted, entjob.StatusCompleted, syncjob.Counters{Deleted: gone}, all-gone)
		if f.pending() != nil {
			t.Errorf("%v: something is left in quarantine", b)
		}
		restored := cut(b, 0, func() (*ent.SyncJob, error) { return f.jobs.RestoreDeletions(f.ctx, f.row.ID, deleted.ID) })
		f.expectConsistent(restored, entjob.StatusCompleted, syncjob.Counters{Collected: gone, Added: gone}, all)
		f.script.fill(all, "v1") // they are at the source again and have no hold
		f.sync(auto())
		if t.Failed() {
			t.Fatalf("after %v", b)
		}
	}
	if happened < len(boundaries()) {
		t.Errorf("only %d connections were cut", happened)
	}
}

// Workers are killed during an approved deletion and its restoration. The counters
// of the jobs stay exact.
func TestKillsDuringAnApprovedDeletionKeepCountersExact(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	redisURL := testkit.Redis(t)
	f := newFixtureOn(t, database.AppURL, redisURL)
	f.embedder = embed.NewBuiltin()
	f.row = f.connector("scripted", nil)
	items := *killItems
	gone := items - items/10
	k := &killing{
		fixture: f, admin: database.AdminURL, dice: rand.New(rand.NewPCG(*killSeed, 2)),
		plan: plan{Database: database.AppURL, Redis: redisURL, Items: items},
	}
	run := func(source string) *ent.SyncJob {
		k.plan.Source = source
		w := k.begin(k.plan)
		defer w.end()
		return k.wait(k.start(auto()).ID)
	}
	f.expect(run(sourceWhole), entjob.StatusCompleted, syncjob.Counters{Collected: items, Added: items})
	for range 2 {
		run(sourceShrunk)
		if p := f.pending(); p == nil || p.Documents != gone {
			t.Fatalf("in quarantine: %+v", p)
		}
		job, err := f.jobs.ApproveDeletion(f.ctx, f.row.ID)
		f.must(err)
		deleted := k.killAtSteps(job.ID, stepDelete, stepDeleted, stepDeleted, stepDelete)
		f.expectConsistent(deleted, entjob.StatusCompleted, syncjob.Counters{Deleted: gone}, items-gone)
		job, err = f.jobs.RestoreDeletions(f.ctx, f.row.ID, deleted.ID)
		f.must(err)
		restored := k.killAtSteps(job.ID, stepRestore, stepRestored, stepRestored, stepRestore)
		f.expectConsistent(restored, entjob.StatusCompleted, syncjob.Counters{Collected: gone, Added: gone}, items)
		run(sourceWhole) // they have no hold then
	}
}

// killAtSteps kills a worker at each step, every other one when it reaches the step
// for the second time, and lets a last worker finish the job.
func (k *killing) killAtSteps(job uuid.UUID, steps ...string) *ent.SyncJob {
	k.Helper()
	killed := 0
	for at, step := range steps {
		p := k.plan
		p.Step, p.At = step, int64(1+at%2)
		w := k.begin(p)
		for syncjob.Open(k.job(job).Status) && !w.exited() {
			// The job is read first: its counter never exceeds the truth.
			row := k.job(job)
			if there := k.deleted(); row.Mode == entjob.ModeDelete && row.Deleted > there {
				k.Errorf("the job says that %d documents are deleted, and %d are", row.Deleted, there)
			}
		}
		if !w.exited() {
			w.kill()
			break // the job has ended
		}
		killed++
		row := k.job(job)
		if there := k.deleted(); row.Mode == entjob.ModeDelete && row.Deleted != there {
			k.Errorf("after a kill the job says that %d documents are deleted, and %d are", row.Deleted, there)
		}
	}
	last := k.begin(k.plan)
	defer last.end()
	done := k.wait(job)
	k.Logf("%s: killed %d times, done with %d turns", done.Mode, killed, done.Turns)
	if killed == 0 {
		k.Error("no worker was killed")
	}
	return done
}

// deleted counts the deleted documents.
func (k *killing) deleted() int {
	k.Helper()
	n, err := k.db.Ent.Document.Query().Where(document.ConnectorID(k.row.ID), document.DeletedAtNotNil()).Count(k.ctx)
	k.must(err)
	return n
}
