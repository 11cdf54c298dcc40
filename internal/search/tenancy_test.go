package search_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestSearchesAreLimitedToTheirScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	second := f.collection(mine, "Second", embed.BuiltinModel)
	f.add(mine, "a", "Otters of mine", nil)
	f.add(second, "b", "Otters of my second collection", nil)
	f.add(theirs, "c", "Otters of theirs", nil)
	key := func(collections ...uuid.UUID) viewer.Scope {
		s, err := viewer.Viewer{Workspace: mine.workspace, Kind: viewer.KindKey, Collections: collections}.Scope()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, c := range map[string]struct {
		scope viewer.Scope
		want  []uuid.UUID
	}{
		"the whole workspace":              {mine.scope, []uuid.UUID{mine.collection, second.collection}},
		"one collection":                   {key(second.collection), []uuid.UUID{second.collection}},
		"both collections":                 {key(second.collection, mine.collection), []uuid.UUID{mine.collection, second.collection}},
		"none":                             {key(), nil},
		"another workspace's":              {key(theirs.collection), nil},
		"an own and another workspace's":   {key(theirs.collection, mine.collection), []uuid.UUID{mine.collection}},
		"a collection that does not exist": {key(uuid.New()), nil},
		"the other workspace":              {theirs.scope, []uuid.UUID{theirs.collection}},
	} {
		r, err := f.engine.Search(t.Context(), c.scope, search.Query{Text: "otters", Limit: 10})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []uuid.UUID
		for _, h := range r.Hits {
			got = append(got, h.Collection)
		}
		for _, list := range [][]uuid.UUID{got, c.want} {
			slices.SortFunc(list, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		}
		if !slices.Equal(got, c.want) || r.Total != len(c.want) {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
		}
	}
}
