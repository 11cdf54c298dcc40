package search_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestWarmCollectionsAreResident(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "otters.md", "# Otters\n\nOtters live in rivers.\n", nil)
	before := f.engine.Resident()
	if before.Collections != 0 {
		t.Fatalf("%d collections are resident before Warm, want 0", before.Collections)
	}
	for range 2 {
		if err := f.engine.Warm(t.Context(), []viewer.Scope{id.scope, id.scope}); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.engine.Resident(); got.Collections != 1 || got.Loads != 1 {
		t.Errorf("%d collections are resident after %d loads, want 1 of each", got.Collections, got.Loads)
	}
	if found := f.search(id, search.Query{Text: "otters"}); len(found.Hits) != 1 {
		t.Errorf("%d hits, want 1", len(found.Hits))
	}
	if got := f.engine.Resident(); got.Loads != 1 {
		t.Errorf("%d loads after a search, want 1", got.Loads)
	}
}
