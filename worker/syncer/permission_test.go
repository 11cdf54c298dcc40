package syncer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func permissions() syncjob.StartOptions {
	return syncjob.StartOptions{Mode: entjob.ModePermissions}
}

// readers returns the stored readers: "everyone" or the principals.
func (f *fixture) readers(path string) string {
	f.Helper()
	var list []string
	var everyone bool
	if err := f.db.Pool.QueryRow(f.ctx, "select coalesce(readers, '{}'), readers is null from documents where connector_id = $1 and path = $2", f.row.ID, path).Scan(&list, &everyone); err != nil {
		f.Fatal(err)
	}
	if everyone {
		return "everyone"
	}
	slices.Sort(list)
	return strings.ReplaceAll(strings.Join(list, " "), "group:"+f.row.ID.String()+":", "group:")
}

func (f *fixture) expectReaders(want map[string]string) {
	f.Helper()
	for path, readers := range want {
		if got := f.readers(path); got != readers {
			f.Errorf("%s has the readers %q, want %q", path, got, readers)
		}
	}
}

func (f *fixture) warned(job *ent.SyncJob, part string) {
	f.Helper()
	if !slices.ContainsFunc(job.Warnings, func(w string) bool { return strings.Contains(w, part) }) {
		f.Errorf("the warnings are %q, want %q", job.Warnings, part)
	}
}

func TestAPermissionRefreshIsAJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.row = f.connector("sharing", map[string]any{"include_permissions": true})
	f.work()
	f.script.PageSize = 2
	f.script.fill(4, "v1")
	f.script.share("doc-0000.md", "user:ada@example.com", "group:7", "user:ada@example.com")
	f.script.share("doc-0001.md")
	f.script.share("doc-0002.md", " ")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Added: 4})
	// Documents whose readers the source does not list have none.
	f.expectReaders(map[string]string{"doc-0000.md": "group:7 user:ada@example.com", "doc-0001.md": "everyone", "doc-0002.md": "", "doc-0003.md": ""})

	f.script.share("doc-0003.md", "user:bob@example.com")
	f.script.share("doc-0001.md", "group:8")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Unchanged: 4})
	f.expectReaders(map[string]string{"doc-0001.md": "everyone", "doc-0003.md": ""}) // a sync asks for the readers of what it stores
	before := f.ledger()
	synced, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	f.script.opened()
	job := f.sync(permissions())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 4, Modified: 2, Unchanged: 2})
	if n := f.script.opened(); n != 0 || len(job.Warnings) != 0 {
		t.Errorf("%d items were opened, the job warns of %q", n, job.Warnings)
	}
	f.expectReaders(map[string]string{"doc-0000.md": "group:7 user:ada@example.com", "doc-0001.md": "group:8", "doc-0002.md": "", "doc-0003.md": "user:bob@example.com"})
	after, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if !after.LastSync.Equal(*synced.LastSync) {
		t.Error("a refresh of permissions counts as a sync")
	}
	for path, line := range f.ledger() {
		if line.JobID != before[path].JobID || line.Status != before[path].Status {
			t.Errorf("the ledger entry of %s was changed", path)
		}
	}
	f.expect(f.sync(permissions()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Unchanged: 4})

	// Changed content keeps its readers.
	f.script.set("doc-0000.md", "v2", "# New\n\nText.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Modified: 1, Unchanged: 3})
	f.expectReaders(map[string]string{"doc-0000.md": "group:7 user:ada@example.com"})
	// A source that does not know the readers hides the document.
	f.script.Lock()
	f.script.ReadersError = errors.New("no idea")
	f.script.Unlock()
	f.script.set("doc-0000.md", "v3", "# Newer\n\nText.\n")
	job = f.sync(auto())
	f.warned(job, "did not say who may see")
	f.expectReaders(map[string]string{"doc-0000.md": "", "doc-0001.md": "group:8"})
	f.script.Lock()
	f.script.ReadersError = connectors.NeedsAuth(errors.New("sign in again"))
	f.script.Unlock()
	job = f.sync(permissions())
	if job.Status != entjob.StatusFailed || job.Error == nil || *job.Error != "sign in again" {
		t.Errorf("the job without rights is %+v", job)
	}
	if row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID); err != nil || row.Status != connector.StatusNeedsAuth {
		t.Errorf("the connector is %v, %v", row, err)
	}
	f.expectReaders(map[string]string{"doc-0001.md": "group:8"})
	f.script.Lock()
	f.script.ReadersError = nil
	f.script.Unlock()

	// Permissive mode shows everything without a walk of the source.
	f.must(f.db.Ent.Connector.UpdateOne(f.row).SetConfig(map[string]any{"include_permissions": true, "permission_mode": "permissive"}).Exec(f.ctx))
	f.expect(f.sync(permissions()), entjob.StatusCompleted, syncjob.Counters{Modified: 4})
	f.expectReaders(map[string]string{"doc-0000.md": "everyone", "doc-0002.md": "everyone"})
	f.must(f.db.Ent.Connector.UpdateOne(f.row).SetConfig(map[string]any{}).Exec(f.ctx))
	job = f.sync(permissions())
	f.warned(job, "include_permissions is off")
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{})
}

func TestARefreshWithoutPermissionsWarns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(3, "v1")
	f.sync(auto())
	walks := f.script.Calls(connectortest.OnWalk)
	job := f.sync(permissions())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{})
	f.warned(job, "import no permissions")
	f.expectReaders(map[string]string{"doc-0000.md": "everyone"})
	if f.script.Calls(connectortest.OnWalk) != walks {
		t.Error("the source was walked for nothing")
	}
}

func TestASuppressedItemComesBackWhenItIsAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(4, "v1")
	f.sync(auto())
	line := f.ledger()["doc-0002.md"]
	f.must(f.db.Ent.SyncItem.UpdateOne(line).SetSuppressed(true).SetStatus(syncitem.StatusDeleted).SetReason("deleted by hand").Exec(f.ctx))
	f.must(f.db.Ent.Document.Update().Where(document.ID(*line.DocumentID)).SetStatus(document.StatusDeleted).SetDeletedAt(f.clock.now()).Exec(f.ctx))
	f.script.set("doc-0002.md", "v2", "# Changed\n\nAt the source.\n")
	for _, o := range []syncjob.StartOptions{auto(), full(), incremental("doc-0002.md"), full()} {
		f.sync(o)
		if d := f.documents()["doc-0002.md"]; d.Status != document.StatusDeleted {
			t.Fatalf("a sync in the mode %q brought it back: %+v", o.Mode, d)
		}
	}
	f.expectEntry("doc-0002.md", syncitem.StatusSkipped, "deleted by hand")
	if _, err := f.jobs.Allow(f.ctx, line.ID, &f.row.CollectionID); err == nil {
		t.Error("it was allowed through another connector")
	}
	for range 2 {
		row, err := f.jobs.Allow(f.ctx, line.ID, &f.row.ID)
		if err != nil || row.Suppressed {
			t.Fatalf("allowed: %+v, %v", row, err)
		}
	}
	f.sync(auto())
	if d := f.documents()["doc-0002.md"]; d.Status != document.StatusIndexed || d.ID != *line.DocumentID || !strings.Contains(f.text("doc-0002.md"), "At the source") {
		t.Errorf("after it was allowed the document is %+v", d)
	}
}

func TestARetryCoversOnlyFailedItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.row = f.connector("resolving", nil)
	f.work()
	f.script.fill(5, "v1")
	f.script.set("broken.json", "v1", "{")
	f.script.hooks(nil, failing(errBroken, "doc-0001.md"))
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 6, Added: 4, Failed: 2})
	if d := f.documents()["doc-0001.md"]; d.Status != document.StatusFailed || d.Failure == nil {
		t.Errorf("the failed document is %+v", d)
	}
	f.script.hooks(nil, nil)
	f.script.opened()
	job, err := f.jobs.Retry(f.ctx, f.row.ID, nil)
	f.must(err)
	job = f.wait(job.ID)
	f.expect(job, entjob.StatusPartial, syncjob.Counters{Collected: 2, Added: 1, Failed: 1})
	if n := f.script.opened(); n != 2 || job.Cause != entjob.CauseRetry || job.Mode != entjob.ModeIncremental {
		t.Errorf("the retry opened %d items and is %+v", n, job)
	}
	f.script.set("broken.json", "v2", `{"title": "Whole"}`)
	job, err = f.jobs.Retry(f.ctx, f.row.ID, []uuid.UUID{f.ledger()["broken.json"].ID})
	f.must(err)
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	if f.live() != 6 {
		t.Error("not all documents are there")
	}
}
