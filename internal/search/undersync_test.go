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

// job starts a sync of the tenant's connector, finish ends it.
func (f *fixture) job(id tenant) index.Fence {
	f.Helper()
	fence := index.Fence{Job: gid.New(gid.SyncJob), Attempt: 1}
	f.exec(`insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, status, attempt, warnings, heartbeat_at)
		values ($1, now(), now(), $2, $3, 'RUNNING', 1, '[]', now())`, fence.Job, id.workspace, id.connector)
	return fence
}

func (f *fixture) finish(fence index.Fence) {
	f.Helper()
	f.exec("update sync_jobs set status = 'COMPLETED' where id = $1", fence.Job)
}

// sync stores a text as the sync of a job does.
func (f *fixture) sync(id tenant, fence index.Fence, path, content string, change func(*index.Record)) {
	f.Helper()
	if _, err := f.index.Put(f.Context(), id.scope, fence, f.record(id, path, content, change)); err != nil {
		f.Fatal(err)
	}
}

// state is that of the tenant's collection.
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

// holdChanges keeps everybody from reading what has changed, until it is called.
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

func TestASearchDoesNotWaitForTheChangesOfARunningSync(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		f.add(id, path, "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.Version = "old" })
	}
	shown := func(ctx context.Context) []search.Hit {
		t.Helper()
		r, err := f.engine.Search(ctx, id.scope, search.Query{Text: "high water", Limit: 10})
		if err != nil || len(r.Hits) != 3 {
			t.Fatalf("found %+v, %v", r, err)
		}
		return r.Hits
	}
	before := shown(t.Context())
	fence := f.job(id)
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		f.sync(id, fence, path, "# Tides\n\nHigh water comes late.", func(r *index.Record) { r.Version = "new" })
	}
	release := f.holdChanges()
	for i, h := range shown(t.Context()) {
		if h.Text != before[i].Text || h.Version != "old" || h.Passage != before[i].Passage {
			t.Errorf("the index does not know of the change yet, and the answer has %+v", h)
		}
	}
	release()
	f.finish(fence)
	for _, h := range shown(t.Context()) {
		if h.Text != "High water comes late." || h.Version != "new" {
			t.Errorf("the sync has ended, and the answer has %+v", h)
		}
	}
}

func TestAReaderWhomARunningSyncShutsOutFindsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.Readers = []string{"user:ann", "user:ben"} })
	f.add(id, "b.md", "# Tides\n\nHigh water comes late.", nil)
	ann := asking(t, []string{"user:ann"})
	count := func() int {
		t.Helper()
		r, err := f.engine.Search(ann, id.scope, search.Query{Text: "high water", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(r.Hits)
	}
	if n := count(); n != 2 {
		t.Fatalf("found %d", n)
	}
	fence := f.job(id)
	f.sync(id, fence, "a.md", "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.Readers = []string{"user:ben"} })
	if n := count(); n != 1 {
		t.Errorf("one is not hers any more, and she finds %d", n)
	}
	f.sync(id, fence, "b.md", "# Tides\n\nHigh water comes late.", func(r *index.Record) { r.Readers = []string{} })
	if n := count(); n != 0 {
		t.Errorf("neither is hers any more, and she finds %d", n)
	}
}

func TestAPageShowsOneVersionOfEachDocument(t *testing.T) {
	t.Parallel()
	k := search.NewKept(1 << 20)
	workspace, collection, document := gid.New(gid.Workspace), gid.New(gid.Collection), gid.New(gid.Document)
	at := index.State{Collection: collection}
	hit := func(version, address string) search.Hit {
		return search.Hit{Passage: gid.New(gid.Passage), Document: document, Collection: collection, Version: version, URL: address, Text: "text"}
	}
	first, second, third, other := hit("1", "https://a/#x"), hit("1", "https://a/#y"), hit("2", "https://a/#x"), hit("1", "https://b/")
	for _, h := range []search.Hit{first, second, third, other} {
		k.Put(workspace, at, h)
	}
	unknown := gid.New(gid.Passage)
	for name, c := range map[string]struct {
		passages []uuid.UUID
		want     int
	}{
		"one version":              {[]uuid.UUID{first.Passage, second.Passage}, 2},
		"two versions":             {[]uuid.UUID{first.Passage, third.Passage}, 0},
		"two addresses":            {[]uuid.UUID{first.Passage, other.Passage}, 0},
		"one that is not known":    {[]uuid.UUID{first.Passage, unknown}, 0},
		"a part of the same again": {[]uuid.UUID{third.Passage}, 1},
	} {
		if got := k.GetPage(workspace, at, document, c.passages...); len(got) != c.want {
			t.Errorf("%s: %d of %d come out of memory", name, len(got), c.want)
		}
	}
}

func TestWhatIsShownOfChangedDocumentsIsReadWithTheChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Tides\n\nHigh water comes twice a day.", nil)
	f.add(id, "b.md", "# Rivers\n\nLow water comes in summer.", nil)
	if r := f.search(id, search.Query{Text: "high water", Limit: 1}); len(r.Hits) != 1 {
		t.Fatalf("found %+v", r)
	}
	fence := f.job(id)
	f.sync(id, fence, "a.md", "# Tides\n\nHigh water comes late.", nil)
	f.sync(id, fence, "b.md", "# Rivers\n\nLow water comes in autumn.", nil)
	state := f.state(id)
	state.Required = state.Change // wait for it
	if err := f.engine.Await(t.Context(), id.scope, state); err != nil {
		t.Fatal(err)
	}
	remembered := f.engine.Remembered()
	if len(remembered) != 2 || !strings.Contains(strings.Join(remembered, "\n"), "comes late") {
		t.Errorf("what was shown of documents is remembered as %q", remembered)
	}
}
