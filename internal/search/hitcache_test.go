package search_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

func TestRepeatedSearchesShowTheCurrentVersion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "# Tides\n\nHigh water comes twice a day.", nil)
	hit := func() search.Hit {
		t.Helper()
		r := f.search(id, search.Query{Text: "high water", Highlight: true})
		if len(r.Hits) != 1 || !strings.Contains(r.Hits[0].Snippet, "<mark>") {
			t.Fatalf("Search() = %+v", r)
		}
		return r.Hits[0]
	}
	first := hit()
	again := hit()
	if again.Passage != first.Passage || again.URL != first.URL || again.Text != first.Text || again.Snippet != first.Snippet ||
		again.Score != first.Score || again.CollectionName != "Docs" {
		t.Errorf("the first hit is %+v, the second %+v", first, again)
	}
	// The same content has another address.
	moved := f.record(id, "a.md", "# Tides\n\nHigh water comes twice a day.", func(r *index.Record) { r.URL = "https://docs.example/moved.md" })
	if err := f.index.Refresh(t.Context(), id.scope, index.Fence{}, moved); err != nil {
		t.Fatal(err)
	}
	if got := hit(); !strings.HasPrefix(got.URL, "https://docs.example/moved.md") {
		t.Errorf("URL of a document that was moved = %s", got.URL)
	}
	f.exec("update collections set name = 'Sea' where id = $1", id.collection)
	if got := hit(); got.CollectionName != "Sea" {
		t.Errorf("CollectionName = %q, want Sea", got.CollectionName)
	}
	f.add(id, "a.md", "# Tides\n\nHigh water comes late.", nil)
	if got := hit(); got.Text != "High water comes late." {
		t.Errorf("Text of a changed document = %q", got.Text)
	}
	f.exec("update connectors set deleting_at = now() where id = $1", id.connector)
	if r := f.search(id, search.Query{Text: "high water"}); len(r.Hits) != 0 {
		t.Errorf("a document of a connector that is being deleted is found: %+v", r.Hits)
	}
}

func TestACachedHitIsValidUntilARequiredChange(t *testing.T) {
	t.Parallel()
	c := search.NewHitCache(1 << 20)
	workspace, collection := gid.New(gid.Workspace), gid.New(gid.Collection)
	state := index.State{Collection: collection, Name: "Docs", Position: index.Position{Generation: 1, Change: 7}}
	h := search.Hit{Passage: gid.New(gid.Passage), Collection: collection, CollectionName: "Old", Text: "text"}
	c.Put(workspace, state, h)
	if got := c.Get(workspace, state, h.Passage); got == nil || got.Text != "text" || got.CollectionName != "Docs" {
		t.Errorf("Get at the same state = %+v", got)
	}
	running := state
	running.Change++ // by a running sync
	if got := c.Get(workspace, running, h.Passage); got == nil || got.Text != "text" {
		t.Errorf("Get after a change that is not required = %+v", got)
	}
	required, generation, other := state, state, state
	required.Change++
	required.Required = required.Change
	generation.Generation++
	other.Collection = gid.New(gid.Collection)
	for name, state := range map[string]index.State{"after a required change": required, "of a new generation": generation, "of another collection": other} {
		if got := c.Get(workspace, state, h.Passage); got != nil {
			t.Errorf("Get %s = %+v, want nil", name, got)
		}
	}
	if got := c.Get(gid.New(gid.Workspace), state, h.Passage); got != nil {
		t.Errorf("Get of another workspace = %+v, want nil", got)
	}
	changed := c.Get(workspace, state, h.Passage)
	changed.Snippet = "of one search"
	if got := c.Get(workspace, state, h.Passage); got.Snippet != "" {
		t.Error("a change of a returned hit changes the cached one")
	}
}

func TestTheHitCacheIsBounded(t *testing.T) {
	t.Parallel()
	const budget = 1 << 20
	c := search.NewHitCache(budget)
	workspace, collection := gid.New(gid.Workspace), gid.New(gid.Collection)
	state := index.State{Collection: collection}
	frequent := gid.New(gid.Passage)
	put := func(id uuid.UUID) {
		c.Put(workspace, state, search.Hit{Passage: id, Collection: collection, Text: strings.Repeat("x", 1000),
			Metadata: map[string]any{"list": []any{"y", map[string]any{"z": strings.Repeat("w", 100)}}}})
	}
	put(frequent)
	for range 5000 {
		put(gid.New(gid.Passage))
		if c.Get(workspace, state, frequent) == nil {
			t.Fatal("a hit that is used all the time was dropped")
		}
		if n := c.Bytes(); n > budget+10_000 {
			t.Fatalf("the cache holds %d bytes, its budget is %d", n, budget)
		}
	}
	off := search.NewHitCache(0)
	off.Put(workspace, state, search.Hit{Passage: frequent, Collection: collection})
	if off.Get(workspace, state, frequent) != nil {
		t.Error("a cache without a budget holds a hit")
	}
}
