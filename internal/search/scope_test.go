package search_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAQueryCanNarrowTheScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, theirs := f.tenant(), f.tenant()
	second := f.collection(first, "Second", embed.BuiltinModel)
	f.exec("update collections set created_at = '2001-01-01' where id = $1", second.collection)
	f.exec("update collections set created_at = '2000-01-01' where id = $1", theirs.collection)
	for _, id := range []tenant{first, second, theirs} {
		f.add(id, "a", "Otters swim.", nil)
	}
	key := func(ids ...uuid.UUID) viewer.Scope {
		scope, err := first.scope.Narrow(ids...)
		if err != nil {
			t.Fatal(err)
		}
		return scope
	}
	missing := uuid.New()
	for name, c := range map[string]struct {
		scope viewer.Scope
		q     search.Query
		want  []uuid.UUID
		err   error
	}{
		"no collection":                             {first.scope, search.Query{}, []uuid.UUID{first.collection, second.collection}, nil},
		"a collection":                              {first.scope, search.Query{Collection: &first.collection}, []uuid.UUID{first.collection}, nil},
		"a collection out of reach":                 {key(second.collection), search.Query{Collection: &first.collection}, nil, viewer.ErrOutOfScope},
		"a missing collection":                      {first.scope, search.Query{Collection: &missing}, nil, search.ErrNoCollection},
		"another workspace's":                       {first.scope, search.Query{Collection: &theirs.collection}, nil, search.ErrNoCollection},
		"the oldest":                                {first.scope, search.Query{DefaultToOldest: true}, []uuid.UUID{second.collection}, nil},
		"the oldest of one":                         {key(first.collection), search.Query{DefaultToOldest: true}, []uuid.UUID{first.collection}, nil},
		"the oldest of none":                        {key(), search.Query{DefaultToOldest: true}, nil, search.ErrNoCollection},
		"the oldest of another workspace's":         {key(theirs.collection), search.Query{DefaultToOldest: true}, nil, search.ErrNoCollection},
		"a collection in place of the oldest":       {first.scope, search.Query{DefaultToOldest: true, Collection: &first.collection}, []uuid.UUID{first.collection}, nil},
		"a filter":                                  {first.scope, search.Query{Filters: search.Filters{Collections: []uuid.UUID{second.collection}}}, []uuid.UUID{second.collection}, nil},
		"a filter on another than the collection":   {first.scope, search.Query{Collection: &first.collection, Filters: search.Filters{Collections: []uuid.UUID{second.collection}}}, nil, nil},
		"a filter out of reach":                     {key(first.collection), search.Query{Filters: search.Filters{Collections: []uuid.UUID{second.collection}}}, nil, viewer.ErrOutOfScope},
		"a filter with a missing collection":        {first.scope, search.Query{Filters: search.Filters{Collections: []uuid.UUID{second.collection, missing}}}, nil, search.ErrNoCollection},
		"a filter with another workspace's":         {first.scope, search.Query{Filters: search.Filters{Collections: []uuid.UUID{theirs.collection, theirs.collection}}}, nil, search.ErrNoCollection},
		"a collection of the zero scope":            {viewer.Scope{}, search.Query{Collection: &first.collection}, nil, viewer.ErrNoScope},
		"the oldest collection of the zero scope":   {viewer.Scope{}, search.Query{DefaultToOldest: true}, nil, viewer.ErrNoScope},
		"the nil id, which is not the same as none": {first.scope, search.Query{Collection: &uuid.Nil}, nil, search.ErrNoCollection},
	} {
		c.q.Text, c.q.Limit = "otters", 10
		admitted := 0
		c.q.Admit = func(context.Context) error { admitted++; return nil }
		r, err := f.engine.Search(t.Context(), c.scope, c.q)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error %v, want %v", name, err, c.err)
			continue
		}
		if want := 1; err == nil && admitted != want || err != nil && admitted != 0 {
			t.Errorf("%s: Admit was called %d times", name, admitted)
		}
		facets, facetErr := f.engine.DocumentFacets(t.Context(), c.scope, search.Query{Collection: c.q.Collection, DefaultToOldest: c.q.DefaultToOldest, Filters: c.q.Filters, Facets: allFacets()})
		_, suggestErr := f.engine.Suggest(t.Context(), c.scope, c.q)
		if !errors.Is(facetErr, c.err) || !errors.Is(suggestErr, c.err) {
			t.Errorf("%s: errors %v of facets and %v of suggestions, want %v", name, facetErr, suggestErr, c.err)
		}
		if err != nil {
			continue
		}
		var got []uuid.UUID
		for _, h := range r.Hits {
			got = append(got, h.Collection)
		}
		for _, list := range [][]uuid.UUID{got, c.want} {
			slices.SortFunc(list, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		}
		if !slices.Equal(got, c.want) || facets[0].Documents != len(c.want) {
			t.Errorf("%s: hits in %v, %d documents, want %v", name, got, facets[0].Documents, c.want)
		}
		only := uuid.Nil
		switch {
		case c.q.Collection != nil:
			only = *c.q.Collection
		case c.q.DefaultToOldest:
			only = c.want[0]
		}
		if r.Collection != only {
			t.Errorf("%s: Results.Collection = %v, want %v", name, r.Collection, only)
		}
	}
}

func TestARefusedQueryIsNotSearched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a", "Otters swim.", nil)
	refusal := errors.New("no more queries")
	_, err := f.engine.Search(t.Context(), id.scope, search.Query{Text: "otters", Limit: 10, Admit: func(context.Context) error { return refusal }})
	if !errors.Is(err, refusal) {
		t.Errorf("error %v, want that of Admit", err)
	}
	if n := f.engine.Resident().Collections; n != 0 {
		t.Errorf("%d collections were loaded for a refused query", n)
	}
}

func TestSearchesSeeTheCurrentStateOfCollections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "one.md", "# Otters\n\nOf otters.", nil)
	find := func(when string, want int) *search.Results {
		t.Helper()
		var r *search.Results
		for range 3 {
			if r = f.search(id, search.Query{Text: "otters", Limit: 10}); len(r.Hits) != want || r.Total != want {
				t.Errorf("%s: %d hits, total %d, want %d", when, len(r.Hits), r.Total, want)
			}
		}
		return r
	}
	find("at first", 1)
	f.add(id, "two.md", "# Otters\n\nOf more otters.", nil)
	find("after another document", 2)
	f.exec("update collections set name = 'Renamed' where id = $1", id.collection)
	if name := find("after the collection was renamed", 2).Hits[0].CollectionName; name != "Renamed" {
		t.Errorf("CollectionName = %q, want Renamed", name)
	}
	f.exec("update connectors set closed = true where id = $1", id.connector)
	f.exec("update documents set readers = array['user:ben'] where collection_id = $1", id.collection)
	ann, err := f.engine.Search(viewerWith(t, []string{"user:ann"}), id.scope, search.Query{Text: "otters", Limit: 10})
	if err != nil || len(ann.Hits) != 0 {
		t.Errorf("Search after the connector was closed = %+v, %v, want no hits", ann, err)
	}
	f.exec("update connectors set closed = false where id = $1", id.connector)
	f.exec("update collections set deleting_at = now() where id = $1", id.collection)
	find("after the collection was deleted", 0)
}
