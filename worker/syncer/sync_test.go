package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestASyncAddsModifiesDeletesAndSkips(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(10, "v1")
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 10, Added: 10})
	if job.Parsed != 10 || job.StartedAt == nil || job.FinishedAt == nil {
		t.Errorf("the job is %+v", job)
	}
	if f.live() != 10 || f.model.embedded() != 10 || f.script.opened() != 10 {
		t.Error("the first sync did not process each document once")
	}
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if row.LastSync == nil || row.LastError != nil || row.Status != connector.StatusActive {
		t.Errorf("the connector is %+v", row)
	}

	f.script.set("doc-0003.md", "v2", "# Other\n\nOther text.\n")
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	f.script.remove("doc-0000.md", "doc-0001.md")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 9, Added: 1, Modified: 1, Deleted: 2, Unchanged: 7})
	if f.live() != 9 || f.model.embedded() != 2 || f.script.opened() != 2 {
		t.Error("the second sync did more than the changes")
	}
	if got := f.text("doc-0003.md"); !strings.Contains(got, "Other text") {
		t.Errorf("the changed document is %q", got)
	}
	f.expectEntry("doc-0000.md", syncitem.StatusDeleted, "")
	f.expectEntry("doc-0003.md", syncitem.StatusIndexed, "")
	f.expectEntry("doc-0004.md", syncitem.StatusUnchanged, "")
	d := f.documents()["new.md"]
	if d.URL == nil || *d.URL != "https://example.com/new.md" || d.Title != "New" || d.SourceVersion != "v1" || d.Bytes == 0 {
		t.Errorf("a document is %+v", d)
	}

	// A deleted document comes back with its id.
	before := f.documents()["doc-0000.md"].ID
	f.script.set("doc-0000.md", "v1", "# Document 0\n\nBack again.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 10, Added: 1, Unchanged: 9})
	if d := f.documents()["doc-0000.md"]; d.ID != before || d.Status != document.StatusIndexed || f.live() != 10 {
		t.Errorf("a document that came back is %+v", d)
	}
}

func TestTheSameSyncTwiceDoesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(30, "v1")
	f.sync(auto())
	f.script.opened()
	f.model.embedded()
	change := func() int64 {
		stats, err := f.index.Stats(f.ctx, f.scope, []uuid.UUID{f.row.CollectionID})
		f.must(err)
		return stats[f.row.CollectionID].ChangeNumber
	}
	before := change()
	for range 2 {
		f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 30, Unchanged: 30})
		f.clock.advance(time.Hour)
	}
	if f.script.opened() != 0 || f.model.embedded() != 0 || change() != before {
		t.Error("a sync without changes touched documents")
	}
}

func TestUnversionedItemsAreComparedByContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.set("none.md", "", "# None\n\nNo version.\n")
	f.script.set("some.md", "v1", "# Some\n\nA version.\n")
	f.sync(auto())
	f.model.embedded()
	f.script.opened()
	// The source has a new version of the same content, and one item without a version.
	f.script.change("some.md", func(f *file) { f.Version = "v2" })
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Unchanged: 2})
	if f.script.opened() != 2 || f.model.embedded() != 0 {
		t.Error("the same content was embedded again or not fetched")
	}
	if d := f.documents()["some.md"]; d.SourceVersion != "v2" {
		t.Errorf("the new version was not recorded: %q", d.SourceVersion)
	}
	f.sync(auto())
	if n := f.script.opened(); n != 1 {
		t.Errorf("%d items were opened, of which one has no version", n)
	}
}

func TestAnAutoSyncSkipsRecentlyProcessedItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(3, "v1")
	f.sync(auto())
	f.script.fill(2, "v2")
	f.clock.advance(29 * time.Minute)
	f.script.opened()
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 3, Unchanged: 3})
	if len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "30 minutes") || !strings.Contains(job.Warnings[0], "full") {
		t.Errorf("the warnings are %q", job.Warnings)
	}
	f.expectEntry("doc-0000.md", syncitem.StatusUnchanged, "changed since")
	f.expectEntry("doc-0002.md", syncitem.StatusUnchanged, "")
	if f.script.opened() != 0 {
		t.Error("content was fetched within the window")
	}
	// An auto sync of some paths covers only these, within the window too.
	f.expect(f.sync(syncjob.StartOptions{FileFilter: []string{"doc-0000.md"}}), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Unchanged: 1})
	// An incremental sync ignores the window.
	f.expect(f.sync(incremental("doc-0000.md")), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
	f.clock.advance(2 * time.Minute)
	job = f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 3, Modified: 1, Unchanged: 2})
	if len(job.Warnings) != 0 {
		t.Errorf("the warnings are %q", job.Warnings)
	}
}

func TestAFullSyncReprocessesEverything(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(5, "v1")
	f.sync(auto())
	f.script.opened()
	f.model.embedded()
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	f.script.remove("doc-0000.md")
	job := f.sync(syncjob.StartOptions{Mode: entjob.ModeFull, FileFilter: []string{"doc-0001.md"}})
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 1, Modified: 4, Deleted: 1})
	if f.script.opened() != 5 || f.model.embedded() != 5 {
		t.Error("a full sync did not process everything")
	}
}

func TestAnIncrementalSyncDoesTheNamedPathsOnly(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"scripted", "resolving", "unbounded"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.row = f.connector(kind, nil)
			f.work()
			f.script.fill(6, "v1")
			f.sync(auto())
			f.script.fill(6, "v2")
			f.script.remove("doc-0005.md")
			job := f.sync(incremental("doc-0001.md", "/doc-0002.md", "doc-0005.md", "never.md"))
			want := syncjob.Counters{Collected: 2, Modified: 2, Deleted: 1}
			warnings := 1
			if kind == "unbounded" { // an unseen item may still exist there
				want.Deleted, warnings = 0, 2
			}
			f.expect(job, entjob.StatusCompleted, want)
			if len(job.Warnings) != warnings || !strings.Contains(job.Warnings[warnings-1], `"never.md"`) {
				t.Errorf("the warnings are %q", job.Warnings)
			}
			if got := f.live(); got != 6-want.Deleted {
				t.Errorf("%d documents are there", got)
			}
			if got := f.text("doc-0003.md"); !strings.Contains(got, "v1") {
				t.Error("a path that was not named was synced")
			}
		})
	}
}

func TestASyncNeverDeletesMoreThanHalf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                         string
		documents, gone, added, want int
	}{
		{"one of two", 2, 1, 0, 1},
		{"six of ten", 10, 6, 0, 0},
		{"five of ten", 10, 5, 0, 5},
		{"everything", 4, 4, 0, 0},
		{"the only one", 1, 1, 0, 0},
		{"six of ten, with many new ones", 10, 6, 20, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.work()
			f.script.fill(c.documents, "v1")
			f.sync(auto())
			for i := range c.gone {
				f.script.remove(fmt.Sprintf("doc-%04d.md", i))
			}
			for i := range c.added {
				f.script.set(fmt.Sprintf("new-%d.md", i), "v1", "# New\n\nText.\n")
			}
			job := f.sync(auto())
			f.expect(job, entjob.StatusCompleted, syncjob.Counters{
				Collected: c.documents - c.gone + c.added, Added: c.added, Unchanged: c.documents - c.gone, Deleted: c.want,
			})
			if blocked := c.want == 0; blocked != (len(job.Warnings) == 1) {
				t.Errorf("the warnings are %q", job.Warnings)
			}
			if got := f.live(); got != c.documents+c.added-c.want {
				t.Errorf("%d documents are left", got)
			}
		})
	}
}

func TestOnlyACompleteWalkDeletes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.row = f.connector("unbounded", nil)
	f.work()
	f.script.fill(4, "v1")
	f.sync(auto())
	f.script.remove("doc-0000.md")
	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Modified: 3})
	if f.live() != 4 {
		t.Error("a source that cannot be enumerated lost a document")
	}
}

func TestFiltersAndFormatsSkipWithAReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(3, "v1")
	f.sync(auto())
	f.script.opened()
	f.must(f.row.Update().SetConfig(map[string]any{"filters": map[string]any{"exclude": []any{"doc-0001.md"}, "excludeExtensions": []any{"csv"}}}).Exec(f.ctx))
	f.script.set("table.csv", "v1", "a,b\n1,2\n")
	f.script.set("photo.png", "v1", "not looked at")
	f.script.set("binary.txt", "v1", "\x00\x01\x02\x03\x00\x00\xff\xfe")
	f.script.set("empty.md", "v1", "")
	plan, err := f.jobs.Plan(f.ctx, f.row.ID, auto())
	f.must(err)
	if planned := syncjob.CountersOf(f.wait(plan.ID)); planned.Deleted != 1 {
		t.Errorf("the plan is %+v", planned)
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 6, Unchanged: 2, Skipped: 4, Deleted: 1})
	f.expectEntry("table.csv", syncitem.StatusSkipped, "excludeExtensions")
	f.expectEntry("photo.png", syncitem.StatusSkipped, "format not supported")
	f.expectEntry("empty.md", syncitem.StatusSkipped, "empty")
	f.expectEntry("binary.txt", syncitem.StatusSkipped, "binary")
	if f.live() != 2 {
		t.Error("a later filter left a document that it excludes")
	}
	if n := f.script.opened(); n != 2 {
		t.Errorf("%d items were opened, want two", n)
	}
	// Unsupported content is not fetched again.
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Unchanged: 2, Skipped: 5})
	f.expectEntry("doc-0001.md", syncitem.StatusSkipped, "exclude")
	if n := f.script.opened(); n != 0 {
		t.Errorf("%d items were opened that had not changed", n)
	}
	f.must(f.row.Update().SetConfig(map[string]any{}).Exec(f.ctx))
	f.script.set("binary.txt", "v2", "Text after all.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Added: 3, Unchanged: 2, Skipped: 2})
}

// Filters that exclude more than the guard allows delete nothing until a person
// agrees. When they are taken back, nothing is fetched again.
func TestFiltersPassTheGuard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.fill(10, "v1")
	f.sync(auto())
	f.script.opened()
	f.must(f.row.Update().SetConfig(map[string]any{"filters": map[string]any{"include": []any{"doc-0001.md"}}}).Exec(f.ctx))
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 10, Unchanged: 1, Skipped: 9})
	f.warned(job, "excluded by the connector's filters (9)")
	if p := f.pending(); f.live() != 10 || p == nil || p.Documents != 9 {
		t.Errorf("%d documents are left, pending is %+v", f.live(), p)
	}
	if _, err := f.jobs.DismissDeletion(f.ctx, f.row.ID); err != nil {
		t.Fatal(err)
	}
	f.warned(f.sync(auto()), "dismissed")
	f.must(f.row.Update().SetConfig(map[string]any{}).Exec(f.ctx))
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 10, Unchanged: 10})
	if n := f.script.opened(); n != 0 || f.live() != 10 {
		t.Errorf("%d items were opened again", n)
	}
}

func TestASuppressedItemStaysDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(4, "v1")
	f.sync(auto())
	d := f.documents()["doc-0002.md"]
	_, err := f.index.SoftDelete(f.ctx, f.scope, index.Fence{}, []uuid.UUID{d.ID})
	f.must(err)
	f.must(f.db.Ent.SyncItem.Update().Where(syncitem.Path("doc-0002.md")).SetSuppressed(true).SetStatus(syncitem.StatusDeleted).Exec(f.ctx))
	f.script.fill(4, "v2")
	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Modified: 3, Skipped: 1})
	f.expectEntry("doc-0002.md", syncitem.StatusSkipped, "deleted by hand")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Unchanged: 3, Skipped: 1})
	if f.live() != 3 {
		t.Error("a suppressed document came back")
	}
}

func TestManySlicesAndPagesCountEverythingOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.SlicePages = 1
	f.script.PageSize = 7
	f.work()
	f.script.fill(60, "v1")
	// The source repeats an item on the next page, as a shifting listing does, and
	// lists invalid items.
	f.script.Reshape = func(p connectors.Page) connectors.Page {
		p.Items = append(p.Items, f.script.item("doc-0000.md"), f.script.item("doc-0000.md"),
			connectors.Item{ID: "", Path: "x.md"}, connectors.Item{ID: "a\x00", Path: "x.md"}, connectors.Item{ID: strings.Repeat("x", 2000), Path: "x.md"})
		return p
	}
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 60, Added: 60})
	if job.Attempt < 9 {
		t.Errorf("the job was done in %d slices", job.Attempt)
	}
	if len(job.Warnings) != 1 || f.live() != 60 || f.model.embedded() != 60 {
		t.Errorf("warnings %q, %d documents", job.Warnings, f.live())
	}
}

func TestItemsWithInvalidTextAreStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.set("odd.md", strings.Repeat("v", 3000), "# Odd\n\nText with \x00 in it.\n")
	f.script.set("nul.md", "v\x00", "# Nul\n\nText.\n")
	f.script.change("odd.md", func(f *file) { f.Metadata = map[string]string{"a\x00": "b\xff"} })
	f.script.Reshape = func(p connectors.Page) connectors.Page {
		for i := range p.Items {
			p.Items[i].Path = p.Items[i].ID + "\xff\x00" + strings.Repeat("ü", 2000) + ".md"
			p.Items[i].Title, p.Items[i].Author = "T\x00", "A\xff"
		}
		return p
	}
	job := f.sync(auto())
	if job.Status != entjob.StatusCompleted || job.Added+job.Skipped != 2 {
		t.Errorf("the job is %+v", job)
	}
	f.script.opened()
	f.clock.advance(time.Hour)
	f.sync(auto())
	if n := f.script.opened(); n != 0 {
		t.Errorf("%d items without a change were opened", n)
	}
}

func TestCredentialsReachTheSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.work()
	f.script.fill(1, "v1")
	seal := func(plain string, id uuid.UUID) []byte {
		sealed, err := f.box.Seal([]byte(plain), secret.AAD("connectors", id.String()))
		f.must(err)
		return sealed
	}
	f.must(f.row.Update().SetCredentials(seal(`{"token":"t0k3n"}`, f.row.ID)).Exec(f.ctx))
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	f.script.Lock()
	got := f.script.Settings
	f.script.Unlock()
	if got.Credentials["token"] != "t0k3n" || got.ConnectorID != f.row.ID.String() {
		t.Errorf("the source got %+v", got)
	}
	// A credential of another row cannot be opened.
	f.must(f.row.Update().SetCredentials(seal(`{"token":"t0k3n"}`, uuid.New())).Exec(f.ctx))
	job := f.sync(auto())
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if job.Status != entjob.StatusFailed || row.Status != connector.StatusNeedsAuth || !strings.Contains(*job.Error, "enter them again") {
		t.Errorf("the job is %+v, the connector %+v", job, row)
	}
	// The job names a missing sealing key and is not retried.
	other, err := secret.NewBox(map[string][]byte{"gone-2024": make([]byte, secret.KeyBytes)}, "gone-2024")
	f.must(err)
	lost, err := credential.NewVault(other).Seal(f.row.ID, map[string]string{"token": "t0k3n"})
	f.must(err)
	f.must(f.row.Update().SetCredentials(lost).SetStatus(connector.StatusActive).Exec(f.ctx))
	job = f.sync(auto())
	row, err = f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if job.Status != entjob.StatusFailed || job.Retries != 0 || row.Status != connector.StatusNeedsAuth || row.LastError == nil ||
		!strings.Contains(*row.LastError, `"gone-2024"`) || !strings.Contains(*row.LastError, "SECRET_KEYS") {
		t.Errorf("the job is %+v, the connector %+v", job, row)
	}
}

// A grantStub returns the tokens of one grant.
type grantStub struct {
	workspace, grant uuid.UUID
	err              error
}

func (p *grantStub) TokenSource(workspace, grant uuid.UUID) func(context.Context, string) (string, map[string]string, error) {
	return func(context.Context, string) (string, map[string]string, error) {
		if workspace != p.workspace || grant != p.grant {
			return "", nil, errors.New("it was asked for another grant")
		}
		return "t0k3n", nil, p.err
	}
}

func TestASourceGetsTheTokensOfItsGrant(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	grant, err := f.db.Ent.OAuthGrant.Create().SetProvider("google").SetTokens([]byte("sealed")).Save(f.ctx)
	f.must(err)
	f.must(f.row.Update().SetGrantID(grant.ID).Exec(f.ctx))
	source := &grantStub{workspace: f.row.WorkspaceID, grant: grant.ID}
	f.options.Grants = source
	f.work()
	f.script.fill(1, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	f.script.Lock()
	got := f.script.Settings
	f.script.Unlock()
	if got.Token == nil {
		t.Fatal("the source got no tokens")
	}
	if token, _, err := got.Token(t.Context(), ""); err != nil || token != "t0k3n" {
		t.Errorf("%q, %v", token, err)
	}
	// A revoked grant stops the connector.
	source.err = connectors.NeedsAuth(errors.New("google does not accept this grant any more; connect again"))
	f.script.hooks(func(ctx context.Context, _ string) error {
		_, _, err := got.Token(ctx, "")
		return err
	}, func(context.Context, string) error { return nil })
	job := f.sync(auto())
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	if job.Status != entjob.StatusFailed || row.Status != connector.StatusNeedsAuth || !strings.Contains(*job.Error, "connect again") {
		t.Errorf("the job is %+v, the connector %+v", job, row)
	}
}

func TestScheduledSyncsRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.script.fill(2, "v1")
	f.must(f.row.Update().SetSyncStrategy(connector.SyncStrategyScheduled).SetScheduleInterval("15m").SetNextSyncAt(f.clock.now()).Exec(f.ctx))
	f.work()
	f.work() // a second worker
	for beat := range 3 {
		testkit.WaitFor(t, fmt.Sprintf("scheduled sync %d", beat+1), func() bool {
			n, err := f.db.Ent.SyncJob.Query().Where(entjob.CauseEQ(entjob.CauseSchedule), entjob.StatusEQ(entjob.StatusCompleted)).Count(f.ctx)
			f.must(err)
			return n == beat+1
		})
		f.clock.advance(15 * time.Minute)
	}
	if f.live() != 2 {
		t.Error("the documents are not there")
	}
}
