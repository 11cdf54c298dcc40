package docwatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A counting store counts its calls.
type counting struct {
	*index.Store
	numbers, counts, changes atomic.Int64
}

func (c *counting) ChangeNumbers(ctx context.Context, scopes []viewer.Scope) (map[uuid.UUID]int64, error) {
	c.numbers.Add(1)
	return c.Store.ChangeNumbers(ctx, scopes)
}

func (c *counting) StatusCounts(ctx context.Context, scope viewer.Scope, collection, connector, document uuid.UUID) (int64, index.StatusCounts, error) {
	c.counts.Add(1)
	return c.Store.StatusCounts(ctx, scope, collection, connector, document)
}

func (c *counting) DocumentChanges(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after index.FeedPosition, limit int) ([]index.DocumentChange, error) {
	c.changes.Add(1)
	return c.Store.DocumentChanges(ctx, scope, collection, after, limit)
}

type fixture struct {
	*testing.T
	db    *store.DB
	store *counting
	feed  *docwatch.Feed
}

// A place is a collection with a connector.
type place struct {
	workspace, collection, connector uuid.UUID
	scope                            viewer.Scope
	ctx                              context.Context
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t}
	var err error
	f.db, err = store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	f.must(err)
	t.Cleanup(f.db.Close)
	f.store = &counting{Store: index.New(f.db.Pool, analysis.New())}
	f.feed = docwatch.New(f.store, docwatch.Options{Poll: 10 * time.Millisecond})
	t.Cleanup(f.feed.Close)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) place() place {
	f.Helper()
	row, err := f.db.Ent.Workspace.Create().SetName("w").Save(viewer.With(f.Context(), viewer.System(uuid.Nil)))
	f.must(err)
	p := place{workspace: row.ID, ctx: viewer.With(f.Context(), viewer.System(row.ID))}
	collection, err := f.db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("test").Save(p.ctx)
	f.must(err)
	p.collection = collection.ID
	p.connector = f.connector(p)
	p.scope, err = viewer.System(row.ID).Scope()
	f.must(err)
	return p
}

func (f *fixture) connector(p place) uuid.UUID {
	f.Helper()
	row, err := f.db.Ent.Connector.Create().SetName("K").SetType("scripted").SetCollectionID(p.collection).Save(p.ctx)
	f.must(err)
	return row.ID
}

func (f *fixture) put(p place, name string) uuid.UUID {
	f.Helper()
	out, err := f.store.Put(f.Context(), p.scope, index.Fence{}, &index.Record{
		Connector: p.connector, Collection: p.collection, SourceID: name, Path: name + ".md", Title: "The " + name, Hash: []byte(name),
	})
	f.must(err)
	return out.Document
}

// fail records that the newest version of a document could not be indexed.
func (f *fixture) fail(p place, name, reason string) {
	f.Helper()
	_, err := f.store.Fail(f.Context(), p.scope, index.Fence{}, &index.Record{
		Connector: p.connector, Collection: p.collection, SourceID: name, Path: name + ".md", Title: "The " + name,
	}, reason)
	f.must(err)
}

func (f *fixture) watch(ctx context.Context, p place, filter docwatch.Filter, from *docwatch.Cursor) <-chan docwatch.Event {
	f.Helper()
	filter.Collection = p.collection
	c, err := docwatch.Watch(ctx, f.feed, p.scope, filter, from, func(e docwatch.Event) docwatch.Event { return e })
	f.must(err)
	return c
}

// next waits for an event.
func (f *fixture) next(c <-chan docwatch.Event) docwatch.Event {
	f.Helper()
	e, open := testkit.Receive(f, "an event", c)
	if !open {
		f.Fatal("the watch has ended")
	}
	return e
}

func TestEveryChangeIsSentAfterTheCurrentCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.place()
	one := f.put(p, "one")
	c := f.watch(t.Context(), p, docwatch.Filter{}, nil)
	if e := f.next(c); e.Counts == nil || *e.Counts != (index.StatusCounts{Indexed: 1}) || len(e.Documents) != 0 {
		t.Fatalf("first came %+v", e)
	}
	two := f.put(p, "two")
	if e := f.next(c); e.Counts != nil || len(e.Documents) != 1 || e.Documents[0].Document != two || e.Documents[0].Title != "The two" ||
		e.Documents[0].Path != "two.md" || e.Documents[0].Status != "INDEXED" || e.Documents[0].Connector != p.connector {
		t.Errorf("a new document: %+v", e)
	}
	f.fail(p, "one", "it broke")
	if e := f.next(c); len(e.Documents) != 1 || e.Documents[0].Document != one || e.Documents[0].Failure != "it broke" {
		t.Errorf("a failure: %+v", e)
	}
	// A repeated failure has no event; its end has.
	f.fail(p, "one", "it broke")
	f.must(f.store.Refresh(t.Context(), p.scope, index.Fence{}, &index.Record{Connector: p.connector, Collection: p.collection, SourceID: "one", Path: "one.md"}))
	if e := f.next(c); len(e.Documents) != 1 || e.Documents[0].Failure != "" {
		t.Errorf("the end of a failure: %+v", e)
	}
	_, err := f.store.SoftDelete(t.Context(), p.scope, index.Fence{}, []uuid.UUID{one})
	f.must(err)
	if e := f.next(c); len(e.Documents) != 1 || e.Documents[0].Status != "DELETED" {
		t.Errorf("a deletion: %+v", e)
	}
	// Counts may be a second old; later changes follow.
	again, leave := context.WithCancel(t.Context())
	defer leave()
	fresh := f.watch(again, p, docwatch.Filter{}, nil)
	if e := f.next(fresh); *e.Counts != (index.StatusCounts{Indexed: 1, Deleted: 1}) {
		for at := e.Cursor; ; {
			if e = f.next(fresh); e.Cursor.At.Number <= at.At.Number {
				t.Errorf("%+v comes after %+v", e, at)
			}
			if n := len(e.Documents); n > 0 && e.Documents[n-1].Status == "DELETED" {
				break
			}
		}
	}
}

func TestFiltersSelectDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.place()
	other := p
	other.connector = f.connector(p)
	one := f.put(p, "one")
	ofConnector := f.watch(t.Context(), p, docwatch.Filter{Connector: p.connector}, nil)
	ofDocument := f.watch(t.Context(), p, docwatch.Filter{Document: one}, nil)
	for _, c := range []<-chan docwatch.Event{ofConnector, ofDocument} {
		if e := f.next(c); *e.Counts != (index.StatusCounts{Indexed: 1}) {
			t.Errorf("%+v", e.Counts)
		}
	}
	f.put(other, "elsewhere")
	two := f.put(p, "two")
	if e := f.next(ofConnector); len(e.Documents) != 1 || e.Documents[0].Document != two {
		t.Errorf("%+v", e)
	}
	f.fail(p, "one", "broke")
	if e := f.next(ofDocument); len(e.Documents) != 1 || e.Documents[0].Document != one {
		t.Errorf("%+v", e)
	}
	f.must(f.db.Ent.Connector.DeleteOneID(p.connector).Exec(p.ctx))
	for range ofConnector { // it ends, after events of the deletion
	}
}

func TestACursorMissesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.place()
	const writers, each = 4, 60
	// Readers come and go while several writers write. Together the readers have seen the last state of every document.
	seen := map[uuid.UUID]string{}
	var mu sync.Mutex
	written := map[uuid.UUID]bool{}
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				id := f.put(p, fmt.Sprintf("%d-%d", w, i))
				mu.Lock()
				written[id] = true
				mu.Unlock()
				if i%7 == 0 {
					if _, err := f.store.SoftDelete(t.Context(), p.scope, index.Fence{}, []uuid.UUID{id}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	zero := docwatch.Cursor{Collection: p.collection}
	cursor := &zero
	for finished := false; ; {
		select {
		case <-done:
			finished = true
		default:
		}
		ctx, leave := context.WithTimeout(t.Context(), 200*time.Millisecond)
		c := f.watch(ctx, p, docwatch.Filter{}, cursor)
		for range 2 {
			e, open := <-c
			if !open {
				break
			}
			for _, d := range e.Documents {
				seen[d.Document] = d.Status
			}
			cursor = &e.Cursor
		}
		leave()
		for range c { // unread events are after the cursor
		}
		if mu.Lock(); finished && len(seen) == len(written) {
			mu.Unlock()
			break
		}
		mu.Unlock()
		if t.Context().Err() != nil {
			return
		}
	}
	deleted := 0
	for _, status := range seen {
		if status == "DELETED" {
			deleted++
		}
	}
	if want := writers * ((each + 6) / 7); len(seen) != writers*each || deleted != want {
		t.Errorf("%d documents were seen, %d of them deleted, want %d and %d", len(seen), deleted, writers*each, want)
	}
}

func TestALargeChangeComesInPieces(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.place()
	var ids []uuid.UUID
	for i := range 620 {
		ids = append(ids, f.put(p, fmt.Sprint(i)))
	}
	c := f.watch(t.Context(), p, docwatch.Filter{}, nil)
	slow := f.watch(t.Context(), p, docwatch.Filter{}, nil)
	start := f.next(c).Cursor
	_, err := f.store.SoftDelete(t.Context(), p.scope, index.Fence{}, ids) // all with one change number
	f.must(err)
	again := f.watch(t.Context(), p, docwatch.Filter{}, &start)
	for name, c := range map[string]<-chan docwatch.Event{"live": c, "after": again} {
		var got []uuid.UUID
		for len(got) < len(ids) {
			e := f.next(c)
			if len(e.Documents) > 100 {
				t.Fatalf("%s: %d in an event", name, len(e.Documents))
			}
			for _, d := range e.Documents {
				got = append(got, d.Document)
			}
		}
		slices.SortFunc(got, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		if n := len(slices.Compact(got)); n != len(ids) {
			t.Errorf("%s: %d of %d came", name, n, len(ids))
		}
	}
	if e := f.next(slow); e.Counts == nil {
		t.Errorf("a slow reader's first: %+v", e)
	}
}

func TestManyWatchersCostWhatOneCosts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.place()
	f.put(p, "one")
	const many = 300
	all := make([]<-chan docwatch.Event, many)
	for i := range all {
		all[i] = f.watch(t.Context(), p, docwatch.Filter{}, nil)
		f.next(all[i])
	}
	if n := f.store.counts.Load(); n > 100 { // once a second for all watchers
		t.Errorf("%d counts were made for %d watchers", n, many)
	}
	before := f.store.changes.Load()
	id := f.put(p, "two")
	for _, c := range all {
		if e := f.next(c); len(e.Documents) != 1 || e.Documents[0].Document != id {
			t.Fatalf("%+v", e)
		}
	}
	if n := f.store.changes.Load() - before; n > 20 {
		t.Errorf("one change was read %d times for %d watchers", n, many)
	}
}

func TestOtherWorkspacesAndDeletedObjects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p, other := f.place(), f.place()
	f.put(p, "one")
	c := f.watch(t.Context(), p, docwatch.Filter{}, nil)
	first := f.next(c)
	try := func(scope viewer.Scope, collection uuid.UUID, from *docwatch.Cursor) apierr.Code {
		_, err := docwatch.Watch(t.Context(), f.feed, scope, docwatch.Filter{Collection: collection}, from, func(e docwatch.Event) docwatch.Event { return e })
		if err == nil {
			return ""
		}
		return apierr.From(err).Code
	}
	if code := try(other.scope, p.collection, nil); code != apierr.CodeNotFound { // although the counts are in memory
		t.Errorf("another workspace: %q", code)
	}
	if code := try(other.scope, other.collection, &first.Cursor); code != apierr.InvalidRequest {
		t.Errorf("a cursor of another collection: %q", code)
	}
	for _, text := range []string{"", "x", first.Cursor.String() + "A", first.Cursor.String()[1:]} {
		if _, err := docwatch.ParseCursor(text); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%q: %v", text, err)
		}
	}
	if back, err := docwatch.ParseCursor(first.Cursor.String()); err != nil || back != first.Cursor {
		t.Errorf("%+v, %v", back, err)
	}
	// A cursor from before a restore of the database starts again.
	future := docwatch.Cursor{Collection: p.collection, At: index.FeedEnd(1 << 40)}
	ahead := f.watch(t.Context(), p, docwatch.Filter{}, &future)
	if e := f.next(ahead); e.Cursor.At.Number >= 1<<40 {
		t.Errorf("%+v", e)
	}
	f.must(f.db.Ent.Collection.DeleteOneID(p.collection).Exec(p.ctx))
	for range c { // until it is closed
	}
	f.feed.Close()
	if code := try(other.scope, other.collection, nil); code != apierr.Unavailable {
		t.Errorf("after the end: %q", code)
	}
}

// A deleted connector may change no document, and its row stays for a while.
func TestTheWatchEndsWithTheConnectorOrTheCollection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, p place){
		"the connector has a tombstone": func(f *fixture, p place) {
			f.must(f.db.Ent.Connector.UpdateOneID(p.connector).SetDeletingAt(time.Now()).Exec(p.ctx))
		},
		"the connector's row is gone": func(f *fixture, p place) { f.must(f.db.Ent.Connector.DeleteOneID(p.connector).Exec(p.ctx)) },
		"the collection has a tombstone": func(f *fixture, p place) {
			f.must(f.db.Ent.Collection.UpdateOneID(p.collection).SetDeletingAt(time.Now()).Exec(p.ctx))
		},
		"the workspace's row is gone": func(f *fixture, p place) {
			f.must(f.db.Ent.Workspace.DeleteOneID(p.workspace).Exec(viewer.With(f.Context(), viewer.System(uuid.Nil))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			p := f.place()
			id := f.put(p, "one")
			empty := p
			empty.connector = f.connector(p)
			watched := []<-chan docwatch.Event{
				f.watch(t.Context(), p, docwatch.Filter{Connector: p.connector}, nil),
				f.watch(t.Context(), p, docwatch.Filter{Document: id, Owner: p.connector}, nil),
			}
			other := f.watch(t.Context(), p, docwatch.Filter{Connector: empty.connector}, nil)
			for _, c := range append(watched, other) {
				f.next(c)
			}
			end(f, p)
			for _, c := range watched {
				f.ends(c)
			}
			if strings.Contains(name, "connector") {
				f.put(empty, "two")
				if e := f.next(other); len(e.Documents) != 1 {
					t.Errorf("the other connector's watcher got %+v", e)
				}
			}
		})
	}
}

// ends waits until the channel of a watcher is closed.
func (f *fixture) ends(c <-chan docwatch.Event) {
	f.Helper()
	for open := true; open; {
		_, open = testkit.Receive(f, "the end of the watch", c)
	}
}
