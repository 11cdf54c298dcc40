package search_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

// job starts a sync of the tenant's connector.
func (f *fixture) job(id tenant) index.Fence {
	f.Helper()
	fence := index.Fence{Job: gid.New(gid.SyncJob), Attempt: 1}
	f.exec(`insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, status, attempt, warnings, heartbeat_at)
		values ($1, now(), now(), $2, $3, 'RUNNING', 1, '[]', now())`, fence.Job, id.workspace, id.connector)
	return fence
}

// finish ends a sync.
func (f *fixture) finish(fence index.Fence) {
	f.Helper()
	f.exec("update sync_jobs set status = 'COMPLETED' where id = $1", fence.Job)
}

// sync stores a text as a part of a sync.
func (f *fixture) sync(id tenant, fence index.Fence, path, content string, change func(*index.Record)) {
	f.Helper()
	if _, err := f.index.Put(f.Context(), id.scope, fence, f.record(id, path, content, change)); err != nil {
		f.Fatal(err)
	}
}

// state returns the state of the tenant's collection.
func (f *fixture) state(id tenant) index.State {
	f.Helper()
	states, err := f.index.States(f.Context(), id.scope)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range states {
		if s.Collection == id.collection {
			return s
		}
	}
	f.Fatal("the collection has no state")
	return index.State{}
}

// holdChanges blocks reads of changes until the returned function is called.
func (f *fixture) holdChanges() (release func()) {
	f.Helper()
	tx, err := f.owner.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	if _, err := tx.Exec(f.Context(), "lock table document_changes in access exclusive mode"); err != nil {
		f.Fatal(err)
	}
	return func() { _ = tx.Rollback(context.Background()) }
}

func TestSearchesDoNotWaitForARunningSync(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		f.add(id, path, "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.Version = "old" })
	}
	hits := func(ctx context.Context) []search.Hit {
		t.Helper()
		r, err := f.engine.Search(ctx, id.scope, search.Query{Text: "high water", Limit: 10})
		if err != nil || len(r.Hits) != 3 {
			t.Fatalf("Search() = %+v, %v", r, err)
		}
		return r.Hits
	}
	before := hits(t.Context())
	fence := f.job(id)
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		f.sync(id, fence, path, "# Tides\n\nHigh water comes late.", func(r *index.Record) { r.Version = "new" })
	}
	release := f.holdChanges()
	for i, h := range hits(t.Context()) {
		if h.Text != before[i].Text || h.Version != "old" || h.Passage != before[i].Passage {
			t.Errorf("a hit before the change is read is %+v", h)
		}
	}
	release()
	f.finish(fence)
	for _, h := range hits(t.Context()) {
		if h.Text != "High water comes late." || h.Version != "new" {
			t.Errorf("a hit after the end of the sync is %+v", h)
		}
	}
}

func TestSearchesSeeReadersThatARunningSyncRemoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.Readers = []string{"user:ann", "user:ben"} })
	f.add(id, "b.md", "# Tides\n\nHigh water comes late.", nil)
	ann := viewerWith(t, []string{"user:ann"})
	count := func() int {
		t.Helper()
		r, err := f.engine.Search(ann, id.scope, search.Query{Text: "high water", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Hits)
	}
	if n := count(); n != 2 {
		t.Fatalf("found %d passages, want 2", n)
	}
	fence := f.job(id)
	f.sync(id, fence, "a.md", "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.Readers = []string{"user:ben"} })
	if n := count(); n != 1 {
		t.Errorf("found %d passages after one became unreadable, want 1", n)
	}
	f.sync(id, fence, "b.md", "# Tides\n\nHigh water comes late.", func(r *index.Record) { r.Readers = []string{} })
	if n := count(); n != 0 {
		t.Errorf("found %d passages after both became unreadable, want 0", n)
	}
}

func TestAPageShowsOneVersionOfEachDocument(t *testing.T) {
	t.Parallel()
	c := search.NewHitCache(1 << 20)
	workspace, collection, document := gid.New(gid.Workspace), gid.New(gid.Collection), gid.New(gid.Document)
	state := index.State{Collection: collection}
	hit := func(version, address string) search.Hit {
		return search.Hit{Passage: gid.New(gid.Passage), Document: document, Collection: collection, Version: version, URL: address, Text: "text"}
	}
	first, second, third, other := hit("1", "https://a/#x"), hit("1", "https://a/#y"), hit("2", "https://a/#x"), hit("1", "https://b/")
	for _, h := range []search.Hit{first, second, third, other} {
		c.Put(workspace, state, h)
	}
	uncached := gid.New(gid.Passage)
	for name, test := range map[string]struct {
		passages []uuid.UUID
		want     int
	}{
		"one version":         {[]uuid.UUID{first.Passage, second.Passage}, 2},
		"two versions":        {[]uuid.UUID{first.Passage, third.Passage}, 0},
		"two addresses":       {[]uuid.UUID{first.Passage, other.Passage}, 0},
		"an uncached passage": {[]uuid.UUID{first.Passage, uncached}, 0},
		"one passage":         {[]uuid.UUID{third.Passage}, 1},
	} {
		if got := c.GetPage(workspace, state, document, test.passages...); len(got) != test.want {
			t.Errorf("%s: %d cached hits, want %d", name, len(got), test.want)
		}
	}
}

func TestCachedHitsAreRefreshedWithTheirDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Tides\n\nHigh water comes twice a day.", nil)
	f.add(id, "b.md", "# Rivers\n\nLow water comes in summer.", nil)
	if r := f.search(id, search.Query{Text: "high water", Limit: 1}); len(r.Hits) != 1 {
		t.Fatalf("Search() = %+v", r)
	}
	fence := f.job(id)
	f.sync(id, fence, "a.md", "# Tides\n\nHigh water comes late.", nil)
	f.sync(id, fence, "b.md", "# Rivers\n\nLow water comes in autumn.", nil)
	state := f.state(id)
	state.Required = state.Change // Await waits for it
	if err := f.engine.Await(t.Context(), id.scope, state); err != nil {
		t.Fatal(err)
	}
	cached := f.engine.CachedTexts()
	if len(cached) != 2 || !strings.Contains(strings.Join(cached, "\n"), "comes late") {
		t.Errorf("the cached texts are %q", cached)
	}
}
