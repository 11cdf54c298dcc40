package search_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/search"
)

// Searches begin in what was true the last time: nothing of that may be told when
// it is true no more.
func TestWhatIsSearchedAheadCountsWhileItIsTrue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "one.md", "# Otters\n\nOf otters.", nil)
	find := func(what string, want int) *search.Results {
		t.Helper()
		var found *search.Results
		for range 3 {
			if found = f.search(id, search.Query{Text: "otters", Limit: 10}); len(found.Hits) != want || found.Total != want {
				t.Errorf("%s: %d of %d results, want %d", what, len(found.Hits), found.Total, want)
			}
		}
		return found
	}
	find("at first", 1)
	f.add(id, "two.md", "# Otters\n\nOf more otters.", nil)
	find("after one more", 2)
	f.exec("update collections set name = 'Renamed' where id = $1", id.collection)
	if name := find("renamed", 2).Hits[0].CollectionName; name != "Renamed" {
		t.Errorf("the collection is %q", name)
	}
	f.exec("update connectors set closed = true where id = $1", id.connector)
	f.exec("update documents set readers = array['user:ben'] where collection_id = $1", id.collection)
	ann, err := f.engine.Search(asking(t, []string{"user:ann"}), id.scope, search.Query{Text: "otters", Limit: 10})
	if err != nil || len(ann.Hits) != 0 {
		t.Errorf("closed: %+v, %v", ann, err)
	}
	f.exec("update connectors set closed = false where id = $1", id.connector)
	f.exec("update collections set deleting_at = now() where id = $1", id.collection)
	find("deleted", 0)
}

func TestWorkAsideIsDoneOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		for _, read := range []bool{true, false} {
			times := 0
			search.Aside(read, func() { times++ })()
			if times != 1 {
				t.Fatalf("done %d times, read %t", times, read)
			}
		}
	}
	for _, read := range []bool{true, false} {
		func() {
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("panicked with %v, read %t", p, read)
				}
			}()
			search.Aside(read, func() { panic("broken") })()
		}()
	}
}
