package search_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

func TestRepeatedSearchesShowWhatIsThereNow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Tides\n\nHigh water comes twice a day.", nil)
	shown := func() search.Hit {
		t.Helper()
		r := f.search(id, search.Query{Text: "high water", Highlight: true})
		if len(r.Hits) != 1 || !strings.Contains(r.Hits[0].Snippet, "<mark>") {
			t.Fatalf("found %+v", r)
		}
		return r.Hits[0]
	}
	first := shown()
	again := shown()
	if again.Passage != first.Passage || again.URL != first.URL || again.Text != first.Text || again.Snippet != first.Snippet ||
		again.Score != first.Score || again.CollectionName != "Docs" {
		t.Errorf("first %+v, again %+v", first, again)
	}
	// The same content at another address.
	moved := f.record(id, "a.md", "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.URL = "https://docs.example/moved.md" })
	if err := f.index.Refresh(t.Context(), id.scope, index.Fence{}, moved); err != nil {
		t.Fatal(err)
	}
	if got := shown(); !strings.HasPrefix(got.URL, "https://docs.example/moved.md") {
		t.Errorf("the document moved, and is shown at %s", got.URL)
	}
	f.exec("update collections set name = 'Sea' where id = $1", id.collection)
	if got := shown(); got.CollectionName != "Sea" {
		t.Errorf("the collection is shown as %q", got.CollectionName)
	}
	f.add(id, "a.md", "# Tides\n\nHigh water comes late.", nil)
	if got := shown(); got.Text != "High water comes late." {
		t.Errorf("the document changed, and is shown with %q", got.Text)
	}
	f.exec("update connectors set deleting_at = now() where id = $1", id.connector)
	if r := f.search(id, search.Query{Text: "high water"}); len(r.Hits) != 0 {
		t.Errorf("the connector is being deleted, and its document is shown: %+v", r.Hits)
	}
}

func TestAHitIsKeptUntilSearchesMustSeeAChange(t *testing.T) {
	t.Parallel()
	k := search.NewKept(1 << 20)
	workspace, collection := gid.New(gid.Workspace), gid.New(gid.Collection)
	at := index.State{Collection: collection, Name: "Docs", Position: index.Position{Generation: 1, Change: 7}}
	h := search.Hit{Passage: gid.New(gid.Passage), Collection: collection, CollectionName: "Old", Text: "text"}
	k.Put(workspace, at, h)
	if got := k.Get(workspace, at, h.Passage); got == nil || got.Text != "text" || got.CollectionName != "Docs" {
		t.Errorf("at the same position it is %+v", got)
	}
	during := at
	during.Change++ // by a sync that is still running
	if got := k.Get(workspace, during, h.Passage); got == nil || got.Text != "text" {
		t.Errorf("after a change that no search has to see it is %+v", got)
	}
	later, anew, other := at, at, at
	later.Change++
	later.Required = later.Change
	anew.Generation++
	other.Collection = gid.New(gid.Collection)
	for name, state := range map[string]index.State{"after a change that searches must see": later, "anew": anew, "in another collection": other} {
		if got := k.Get(workspace, state, h.Passage); got != nil {
			t.Errorf("%s it is %+v", name, got)
		}
	}
	if got := k.Get(gid.New(gid.Workspace), at, h.Passage); got != nil {
		t.Errorf("another workspace gets %+v", got)
	}
	changed := k.Get(workspace, at, h.Passage)
	changed.Snippet = "of one search"
	if got := k.Get(workspace, at, h.Passage); got.Snippet != "" {
		t.Error("what a search writes is seen by the next one")
	}
}

func TestKeptHitsAreBounded(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	k := search.NewKept(budget)
	workspace, collection := gid.New(gid.Workspace), gid.New(gid.Collection)
	at := index.State{Collection: collection}
	often := gid.New(gid.Passage)
	put := func(id uuid.UUID) {
		k.Put(workspace, at, search.Hit{Passage: id, Collection: collection, Text: strings.Repeat("x", 1000),
			Metadata: map[string]any{"list": []any{"y", map[string]any{"z": strings.Repeat("w", 100)}}}})
	}
	put(often)
	for range 5000 {
		put(gid.New(gid.Passage))
		if k.Get(workspace, at, often) == nil {
			t.Fatal("what is asked for again and again is forgotten")
		}
		if n := k.Bytes(); n > budget+10_000 {
			t.Fatalf("%d bytes are held of %d", n, budget)
		}
	}
	off := search.NewKept(0)
	off.Put(workspace, at, search.Hit{Passage: often, Collection: collection})
	if off.Get(workspace, at, often) != nil {
		t.Error("without a budget something is kept")
	}
}
