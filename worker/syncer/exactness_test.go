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

// boundary is a place of a deletion or a restoration at which a connection is
// cut.
type boundary struct{ table, when string }

// boundaries are before and after the statement on each table, and the commit.
func boundaries() (list []boundary) {
	for _, table := range []string{"documents", "sync_items", "sync_jobs", "collection_state", "document_changes"} {
		for _, when := range []string{"before", "after"} {
			list = append(list, boundary{table, when})
		}
	}
	return append(list, boundary{"document_changes", "commit"})
}

// arm makes the database end the connection that comes to a boundary after as
// many others as skip says. It returns how to disarm it, which says whether it
// happened.
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

// agrees checks that as many documents are live as want says of the job, and
// that the ledger says of each what it is.
func (f *fixture) agrees(job *ent.SyncJob, status entjob.Status, want syncjob.Counters, live int) {
	f.Helper()
	f.expect(job, status, want)
	if n := f.live(); n != live {
		f.Errorf("%d documents are live, want %d", n, live)
	}
	ledger := f.ledger()
	for path, d := range f.documents() {
		line := ledger[path]
		if line == nil {
			f.Errorf("%s has no line", path)
			continue
		}
		if deleted := d.Status == document.StatusDeleted; deleted != (line.Status == syncitem.StatusDeleted) || deleted != (d.DeletedAt != nil) {
			f.Errorf("%s is %s and its line %s", path, d.Status, line.Status)
		}
	}
}

// Wherever the connection breaks, the documents, their lines in the ledger and
// the job's counters say the same.
func TestADeletionThatIsCutOffAnywhereIsExact(t *testing.T) {
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
		f.agrees(deleted, entjob.StatusCompleted, syncjob.Counters{Deleted: gone}, all-gone)
		if f.pending() != nil {
			t.Errorf("%v: something is left in quarantine", b)
		}
		restored := cut(b, 0, func() (*ent.SyncJob, error) { return f.jobs.RestoreDeletions(f.ctx, f.row.ID, deleted.ID) })
		f.agrees(restored, entjob.StatusCompleted, syncjob.Counters{Collected: gone, Added: gone}, all)
		f.script.fill(all, "v1") // they are at the source again, and held by nothing
		f.sync(auto())
		if t.Failed() {
			t.Fatalf("after %v", b)
		}
	}
	if happened < len(boundaries()) {
		t.Errorf("only %d connections were cut", happened)
	}
}

// Workers are killed over an approved deletion and over its restoration, again
// and again: what the jobs say is what happened.
func TestKillsOverAnApprovedDeletionAreExact(t *testing.T) {
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
		deleted := k.over(job.ID, stepDelete, stepDeleted, stepDeleted, stepDelete)
		f.agrees(deleted, entjob.StatusCompleted, syncjob.Counters{Deleted: gone}, items-gone)
		job, err = f.jobs.RestoreDeletions(f.ctx, f.row.ID, deleted.ID)
		f.must(err)
		restored := k.over(job.ID, stepRestore, stepRestored, stepRestored, stepRestore)
		f.agrees(restored, entjob.StatusCompleted, syncjob.Counters{Collected: gone, Added: gone}, items)
		run(sourceWhole) // they are held by nothing then
	}
}

// over kills a worker at each of the steps, every other one the second time it
// comes there, and lets a last one finish the job.
func (k *killing) over(job uuid.UUID, steps ...string) *ent.SyncJob {
	k.Helper()
	killed := 0
	for at, step := range steps {
		p := k.plan
		p.Step, p.At = step, int64(1+at%2)
		w := k.begin(p)
		for syncjob.Open(k.job(job).Status) && !w.over() {
			// The job is read first: it never says more than is so.
			row := k.job(job)
			if there := k.deleted(); row.Mode == entjob.ModeDelete && row.Deleted > there {
				k.Errorf("the job says that %d documents are deleted, and %d are", row.Deleted, there)
			}
		}
		if !w.over() {
			w.kill()
			break // it has ended
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
		k.Error("nobody was killed at work")
	}
	return done
}

// deleted counts the documents that are.
func (k *killing) deleted() int {
	k.Helper()
	n, err := k.db.Ent.Document.Query().Where(document.ConnectorID(k.row.ID), document.DeletedAtNotNil()).Count(k.ctx)
	k.must(err)
	return n
}
