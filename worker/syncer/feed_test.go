package syncer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// newFeedFixture returns a fixture whose connector has a feed, after a first sync of
// n documents.
func newFeedFixture(t *testing.T, kind string, n int) *fixture {
	t.Helper()
	f := newFixture(t)
	f.row = f.connector(kind, nil)
	f.script.fill(n, "v1")
	f.work()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: n, Added: n})
	f.script.opened()
	return f
}

// walks returns the number of pages of walks so far.
func (f *fixture) walks() int {
	f.Helper()
	return f.script.Calls(connectortest.OnWalk)
}

func TestASyncReadsTheFeed(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 250)
	first := f.reread()
	walked := f.walks()
	if first.FeedToken == "" || first.WalkedAt == nil || first.FeedSettings == "" {
		t.Fatalf("after the first sync the connector is %+v", first)
	}

	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{})
	if f.walks() != walked || f.script.opened() != 0 {
		t.Error("a sync without changes walked the source")
	}

	f.script.set("doc-0003.md", "v2", "# Other\n\nOther text.\n")
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	f.script.remove("doc-0000.md", "doc-0001.md")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Added: 1, Modified: 1, Deleted: 2})
	if f.walks() != walked || f.script.opened() != 2 || f.live() != 249 {
		t.Errorf("the feed was not read: %d documents", f.live())
	}
	f.expectEntry("doc-0000.md", syncitem.StatusDeleted, "")
	f.expectEntry("doc-0003.md", syncitem.StatusIndexed, "")
	second := f.reread()
	if second.FeedToken == first.FeedToken || !second.WalkedAt.Equal(*first.WalkedAt) {
		t.Errorf("the token went from %q to %q, the walk from %v to %v", first.FeedToken, second.FeedToken, first.WalkedAt, second.WalkedAt)
	}

	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 249, Modified: 249})
	if f.walks() == walked {
		t.Error("a full sync did not walk the source")
	}
}

func TestTheWholeSourceIsWalkedAfterTheInterval(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.row = f.connector("feeding", map[string]any{"full_scan_interval": "3d"})
	f.script.fill(5, "v1")
	f.work()
	f.sync(auto())
	walked := f.walks()
	f.clock.advance(71 * time.Hour)
	f.sync(auto())
	if f.walks() != walked {
		t.Error("the source was walked before the interval")
	}
	f.clock.advance(2 * time.Hour)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Unchanged: 5})
	if f.walks() == walked {
		t.Error("the source was not walked after the interval")
	}
	walked = f.walks()
	f.sync(auto())
	if f.walks() != walked {
		t.Error("the interval did not begin again")
	}
}

func TestAnExpiredTokenWalks(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 10)
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	f.script.remove("doc-0000.md")
	f.script.ExpireTokens()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 10, Added: 1, Unchanged: 9, Deleted: 1})
	walked := f.walks()
	f.script.set("newer.md", "v1", "# Newer\n\nNewer text.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	if f.walks() != walked {
		t.Error("the new token was not used")
	}
}

// A page of changes that is too large is not asked for again and again.
func TestAPageOfChangesThatIsTooLargeWalks(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 10)
	f.script.Lock()
	f.script.FeedPageSize = 2 * connectors.MaxPageItems
	f.script.Unlock()
	before := f.reread().FeedToken
	for i := range connectors.MaxPageItems + 1 {
		f.script.set(fmt.Sprintf("new-%03d.md", i), "v1", "# New\n\nText.\n")
	}
	f.script.remove("doc-0000.md")
	walked := f.walks()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: connectors.MaxPageItems + 10, Added: connectors.MaxPageItems + 1, Unchanged: 9, Deleted: 1})
	if after := f.reread().FeedToken; f.walks() == walked || after == before || after == "" {
		t.Errorf("%d walks, the token went from %q to %q", f.walks()-walked, before, after)
	}
	f.script.set("newer.md", "v1", "# Newer\n\nNewer text.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
}

// A token that expires between two pages makes the job walk. What the job took from
// the first page may have changed or gone meanwhile.
func TestATokenThatExpiresMidwayLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 5)
	f.script.Lock()
	f.script.PageSize = 2
	f.script.Unlock()
	for i := range 6 {
		f.script.set(fmt.Sprintf("new-%d.md", i), "v1", fmt.Sprintf("# New %d\n\nText.\n", i))
	}
	pages := 0
	f.script.Lock()
	f.script.BeforeChanges = func(_ context.Context, token string) error {
		if pages++; pages == 2 {
			f.script.set("new-0.md", "v2", "# New 0\n\nThe second text.\n")
			f.script.remove("new-1.md")
			f.script.ExpireTokens()
		}
		return nil
	}
	f.script.Unlock()
	f.sync(auto())
	if f.live() != 10 || !strings.Contains(f.text("new-0.md"), "second text") || f.ledger()["new-1.md"].Status != syncitem.StatusDeleted {
		t.Errorf("%d documents, new-1.md is %v", f.live(), f.ledger()["new-1.md"].Status)
	}
}

func TestAFailedSyncKeepsTheToken(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 5)
	before := f.reread().FeedToken
	f.script.set("doc-0001.md", "v2", "# Other\n\nOther text.\n")
	f.script.Script(connectortest.Fault{On: connectortest.OnChanges, Err: connectors.Fatal(errors.New("no feed today"))})
	if job := f.sync(auto()); job.Status != entjob.StatusFailed {
		t.Fatalf("the job is %s", job.Status)
	}
	if f.reread().FeedToken != before {
		t.Error("a failed sync moved the token")
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
}

// An item that fails is looked up in the next sync, although the feed does not list
// it again.
func TestAnItemThatFailedIsRetried(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 5)
	f.script.set("doc-0001.md", "v2", "# Other\n\nOther text.\n")
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	broken := errors.New("the disk is broken")
	f.script.Script(connectortest.Fault{On: connectortest.OnOpen, Path: "doc-0001.md", Err: broken}, connectortest.Fault{On: connectortest.OnOpen, Path: "new.md", Err: broken})
	before := f.reread().FeedToken
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 2, Failed: 2})
	if f.reread().FeedToken == before {
		t.Error("the token did not move, although the items can be looked up")
	}
	f.script.remove("new.md")
	f.script.set("newer.md", "v1", "# Newer\n\nNewer text.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Added: 1, Modified: 1})
	if !strings.Contains(f.text("doc-0001.md"), "Other text") || f.live() != 6 {
		t.Errorf("after the retry there are %d documents", f.live())
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{})
}

// A source that cannot look items up keeps its token until no item fails.
func TestAFailedItemKeepsTheTokenOfASourceWithoutLookups(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding_only", 5)
	f.script.set("doc-0001.md", "v2", "# Other\n\nOther text.\n")
	f.script.Script(connectortest.Fault{On: connectortest.OnOpen, Path: "doc-0001.md", Err: errors.New("the disk is broken")})
	before := f.reread().FeedToken
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 1, Failed: 1})
	if f.reread().FeedToken != before {
		t.Error("the token moved over a failed item")
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
	if f.reread().FeedToken == before {
		t.Error("the token did not move")
	}
}

// An item that changed within the window of an auto sync is taken: the feed would
// not list it again.
func TestAFeedKnowsNoWindow(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 3)
	f.script.set("doc-0001.md", "v2", "# Other\n\nOther text.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
	f.script.set("doc-0002.md", "v2", "# Other\n\nOther text.\n")
	f.script.ExpireTokens()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 3, Modified: 1, Unchanged: 2})
}

// What was allowed again after a deletion by hand is taken by the next sync.
func TestAnAllowedItemIsLookedUp(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 3)
	item := f.ledger()["doc-0001.md"]
	f.must(f.db.Ent.SyncItem.UpdateOneID(item.ID).SetSuppressed(true).Exec(f.ctx))
	_, err := f.index.SoftDelete(f.ctx, f.scope, noFence, []uuid.UUID{f.documents()["doc-0001.md"].ID})
	f.must(err)
	_, err = f.jobs.Allow(f.ctx, item.ID, nil)
	f.must(err)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Added: 1})
	if f.live() != 3 {
		t.Errorf("there are %d documents", f.live())
	}
}

func TestDeletionsOfAFeedPassTheGuard(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 10)
	f.script.remove(names(0, 6)...)
	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{})
	if !strings.Contains(strings.Join(job.Warnings, "\n"), "6 of 10 documents are not at the source") || f.live() != 10 {
		t.Errorf("%d documents are left, the warnings are %q", f.live(), job.Warnings)
	}
	pending, err := f.jobs.PendingDeletions(f.ctx, []uuid.UUID{f.row.ID})
	f.must(err)
	if p := pending[f.row.ID]; p == nil || p.Documents != 6 || p.Existing != 10 {
		t.Fatalf("the pending deletion is %+v", p)
	}
	// A later sync without deletions leaves the quarantine alone, and one deletion
	// more passes.
	f.script.remove("doc-0009.md")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Deleted: 1})
	approved, err := f.jobs.ApproveDeletion(f.ctx, f.row.ID)
	f.must(err)
	f.expect(f.wait(approved.ID), entjob.StatusCompleted, syncjob.Counters{Deleted: 6})
	if f.live() != 3 {
		t.Errorf("%d documents are left", f.live())
	}
}

// The guard counts the deletions of a run together, over pages and slices.
func TestTheGuardCountsARun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.SlicePages = 1
	f.row = f.connector("feeding", nil)
	f.script.fill(10, "v1")
	f.script.PageSize = 2
	f.work()
	f.sync(auto())
	f.script.remove(names(0, 6)...)
	f.script.set("doc-0000.md", "v1", "# Back\n\nIt is back.\n")
	f.sync(auto())
	if f.live() != 5 {
		t.Errorf("%d documents are left, want 5: half may be deleted", f.live())
	}
	f.script.remove(names(6, 9)...)
	f.sync(auto())
	if f.live() != 5 {
		t.Errorf("%d documents are left, want 5", f.live())
	}
}

func TestMovedItemsKeepTheirDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.row = f.connector("feeding_sharing", map[string]any{"include_permissions": true})
	for i := range 4 {
		path := fmt.Sprintf("plans/%d.md", i)
		f.script.set(path, "v1", fmt.Sprintf("# Plan %d\n\nText.\n", i))
		f.script.share(path, "user:ada@example.com")
	}
	f.work()
	f.sync(auto())
	f.script.opened()
	before := f.documents()["plans/0.md"].ID
	f.script.move("plans", "secret")
	for i := range 4 {
		f.script.share(fmt.Sprintf("secret/%d.md", i), "user:bob@example.com")
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Unchanged: 4})
	d := f.documents()["secret/0.md"]
	if d == nil || d.ID != before || f.script.opened() != 0 {
		t.Fatalf("after a move, the document is %+v", d)
	}
	f.expectReaders(map[string]string{"secret/0.md": "user:bob@example.com"})
}

func TestChangedReadersAreReadWithoutContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.row = f.connector("feeding_sharing", map[string]any{"include_permissions": true})
	f.script.fill(4, "v1")
	f.script.share("doc-0001.md", "user:ada@example.com")
	f.work()
	f.sync(auto())
	f.script.opened()
	requested := f.script.ReadersRequested()
	f.script.share("doc-0001.md", "user:bob@example.com", "group:staff")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{})
	f.expectReaders(map[string]string{"doc-0001.md": "group:staff user:bob@example.com"})
	if n := f.script.ReadersRequested() - requested; n != 1 || f.script.opened() != 0 {
		t.Errorf("the readers of %d items were asked for", n)
	}
	// A source that does not tell the readers hides the document.
	f.script.share("doc-0001.md", "user:eve@example.com")
	f.script.Lock()
	f.script.ReadersError = errors.New("the directory is closed")
	f.script.Unlock()
	f.sync(auto())
	f.expectReaders(map[string]string{"doc-0001.md": ""})
}

func TestAFeedThatLeadsToItselfStops(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 3)
	f.script.Script(connectortest.Fault{On: connectortest.OnChanges, RepeatCursor: true})
	job := f.sync(auto())
	if job.Status != entjob.StatusFailed || job.Error == nil || !strings.Contains(*job.Error, "round in circles") {
		t.Errorf("the job is %+v", job)
	}
}

func TestWarningsOfAFeedHideCredentials(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 3)
	const token = "hunter2-hunter2"
	sealed, err := credential.NewVault(f.box).Seal(f.row.ID, map[string]string{"token": token})
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	f.sync(auto()) // walks
	f.script.Lock()
	f.script.ReshapeChanges = func(p connectors.ChangePage) connectors.ChangePage {
		p.Warnings = []string{"the token " + token + " is old", "the token " + token + " is old"}
		return p
	}
	f.script.Unlock()
	if job := f.sync(auto()); !slices.Equal(job.Warnings, []string{"the token [hidden] is old"}) {
		t.Errorf("the warnings are %q", job.Warnings)
	}
}

func TestAPlanReadsTheFeedAndMovesNothing(t *testing.T) {
	t.Parallel()
	f := newFeedFixture(t, "feeding", 10)
	before := f.reread()
	f.script.set("doc-0003.md", "v2", "# Other\n\nOther text.\n")
	f.script.set("new.md", "v1", "# New\n\nNew text.\n")
	f.script.remove("doc-0000.md")
	walked := f.walks()
	plan := func() (*ent.SyncJob, map[string]planitem.Action) {
		job, err := f.jobs.Plan(f.ctx, f.row.ID, auto())
		f.must(err)
		job = f.wait(job.ID)
		rows, err := f.db.Ent.PlanItem.Query().Where(planitem.JobID(job.ID)).All(f.ctx)
		f.must(err)
		actions := map[string]planitem.Action{}
		for _, row := range rows {
			actions[row.Path] = row.Action
		}
		return job, actions
	}
	job, actions := plan()
	want := map[string]planitem.Action{"doc-0003.md": planitem.ActionModify, "new.md": planitem.ActionAdd, "doc-0000.md": planitem.ActionDelete}
	if fmt.Sprint(actions) != fmt.Sprint(want) || job.Status != entjob.StatusCompleted || f.walks() != walked {
		t.Errorf("the plan is %v (%s), want %v", actions, job.Status, want)
	}
	f.script.remove(names(1, 8)...)
	if _, actions = plan(); actions["doc-0000.md"] != planitem.ActionQuarantine || actions["doc-0007.md"] != planitem.ActionQuarantine {
		t.Errorf("a plan with too many deletions is %v", actions)
	}
	if after := f.reread(); after.FeedToken != before.FeedToken || f.live() != 10 {
		t.Error("a plan moved the token")
	}
}

func TestIncompleteContainersLoseNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"scripted", "feeding"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.row = f.connector(kind, nil)
			f.script.FolderContainers = true
			f.script.PageSize = 2
			f.options.SlicePages = 1
			for _, folder := range []string{"open", "locked"} {
				for i := range 4 {
					f.script.set(fmt.Sprintf("%s/%d.md", folder, i), "v1", fmt.Sprintf("# %s %d\n\nText.\n", folder, i))
				}
			}
			f.work()
			f.sync(auto())
			f.script.SetIncomplete("locked")
			f.script.remove("open/0.md")
			f.script.ExpireTokens() // a walk
			job := f.sync(auto())
			f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 3, Unchanged: 3, Deleted: 1})
			if text := strings.Join(job.Warnings, "\n"); !strings.Contains(text, `"locked"`) || f.live() != 7 {
				t.Errorf("%d documents are left, the warnings are %q", f.live(), text)
			}
			f.script.SetIncomplete("")
			f.script.ExpireTokens()
			job = f.sync(auto())
			if text := strings.Join(job.Warnings, "\n"); !strings.Contains(text, "could not be listed completely") || f.live() != 7 {
				t.Errorf("%d documents are left, the warnings are %q", f.live(), text)
			}
			// An item that moved to another container is there.
			f.script.SetIncomplete()
			f.script.move("locked/0.md", "open/moved.md")
			f.script.SetContainer("open", "open/moved.md")
			f.script.remove("locked/1.md")
			f.sync(auto())
			if f.live() != 6 || f.documents()["open/moved.md"] == nil {
				t.Errorf("%d documents are left", f.live())
			}
		})
	}
}

// A walk that omits items deletes only those that the source does not find by id.
func TestDeletionsAreConfirmed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.row = f.connector("confirming", nil)
	f.script.fill(20, "v1")
	f.work()
	f.sync(auto())
	f.script.remove("doc-0000.md")
	f.script.set("doc-0002.md", "v2", "# Other\n\nOther text.\n")
	hidden := names(1, 15)
	f.script.Lock()
	f.script.Reshape = func(page connectors.Page) connectors.Page {
		page.Items = slices.DeleteFunc(page.Items, func(i connectors.Item) bool { return slices.Contains(hidden, i.ID) })
		return page
	}
	f.script.Unlock()
	plan, err := f.jobs.Plan(f.ctx, f.row.ID, auto())
	f.must(err)
	planned := syncjob.CountersOf(f.wait(plan.ID))
	if want := (syncjob.Counters{Collected: 19, Modified: 1, Deleted: 1, Unchanged: 18}); planned != want {
		f.Errorf("the plan is %+v, want %+v", planned, want)
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 19, Modified: 1, Deleted: 1, Unchanged: 18})
	if f.live() != 19 {
		t.Errorf("%d documents are left", f.live())
	}
}

// A feed and the ledger equal the source at any time, whatever happens in between.
func TestAFeedAndTheLedgerEqualTheSource(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.options.SlicePages = 2
			f.row = f.connector([]string{"feeding", "feeding_only"}[seed%2], map[string]any{"deletion_threshold": 50.0})
			f.script.PageSize = 3
			f.script.fill(12, "v1")
			f.work()
			f.sync(auto())
			dice := rand.New(rand.NewPCG(seed, 7))
			for round := range 8 {
				for step := range 6 {
					path := fmt.Sprintf("doc-%04d.md", dice.IntN(20))
					switch dice.IntN(6) {
					case 0:
						f.script.remove(path)
					case 1:
						f.script.move(path, fmt.Sprintf("moved-%d-%d.md", round, step))
					case 2:
						f.script.Script(connectortest.Fault{On: connectortest.OnOpen, Err: errors.New("broken")})
					default:
						f.script.set(path, fmt.Sprintf("r%d-%d", round, step), fmt.Sprintf("# %d\n\nRound %d, step %d.\n", step, round, step))
					}
				}
				if dice.IntN(4) == 0 {
					f.script.ExpireTokens()
				}
				f.sync(auto())
				f.script.ClearFaults()
				f.sync(auto()) // what failed
				f.expectSource(fmt.Sprintf("round %d", round))
			}
		})
	}
}

// expectSource compares the searchable documents with the source. Deletions in
// quarantine may be left.
func (f *fixture) expectSource(when string) {
	f.Helper()
	want := map[string]string{}
	f.script.Lock()
	for _, item := range f.script.Items() {
		want[item.Path] = item.Version
	}
	f.script.Unlock()
	for path, d := range f.documents() {
		if d.Status != document.StatusIndexed || d.DeletedAt != nil {
			continue
		}
		version, exists := want[path]
		if exists && version != d.SourceVersion {
			f.Errorf("%s: %s has version %q, want %q", when, path, d.SourceVersion, version)
		}
		if !exists {
			if entry := f.ledger()[path]; entry == nil || entry.Hold == nil {
				f.Errorf("%s: %s is not at the source any more", when, path)
			}
		}
		delete(want, path)
	}
	if len(want) > 0 {
		f.Errorf("%s: there are no documents of %v", when, want)
	}
}
