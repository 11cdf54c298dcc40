package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

// TestADocumentsStandingIsThatOfTheSearch compares standings with the results of searches,
// on both tiers.
func TestADocumentsStandingIsThatOfTheSearch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, e := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for _, q := range demoQuestions(t)[:10] {
			query := search.Query{Text: q.Query, Limit: 100, MinScore: 0.01}
			results, err := e.Search(t.Context(), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			ranks := make(map[uuid.UUID]int)
			for i, h := range results.Hits {
				if ranks[h.Document] == 0 {
					ranks[h.Document] = i + 1
					s, err := e.Standing(t.Context(), id.scope, query, h.Document, id.collection)
					if err != nil {
						t.Fatal(err)
					}
					if s.Rank != i+1 || !near(s.Score, h.Score, 1e-9) || s.Place < s.Rank || s.Explanation == nil || !s.Selected {
						t.Errorf("%s: %s: result %d with score %v stands at %+v", name, q.Query, i+1, h.Score, s)
					}
				}
			}
			// With a higher minimum, the last document is no result, but keeps place and score.
			last := results.Hits[len(results.Hits)-1]
			query.MinScore = 1
			s, err := e.Standing(t.Context(), id.scope, query, last.Document, id.collection)
			if err != nil {
				t.Fatal(err)
			}
			if s.Rank != 0 || s.Place == 0 || s.Score <= 0 || s.Score >= 1 {
				t.Errorf("%s: %s: below the minimum it stands at %+v", name, q.Query, s)
			}
		}
	}
}

func TestAStandingNamesWhatExcludesADocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	document := f.add(id, "a", "# Marmots\n\nThe marmot digs a burrow and sleeps in winter.", func(r *index.Record) {
		r.Section, r.Version, r.Language, r.Tags = "animals", "2", "en", []string{"alps"}
	})
	f.add(id, "b", "# Beavers\n\nBeavers dig canals and build dams.", nil)
	other := f.collection(id, "Other", "builtin-static-256")
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, e := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for what, c := range map[string]struct {
			query search.Query
			want  string
		}{
			"filters":             {search.Query{Text: "marmot", Filters: search.Filters{Section: "plants", Version: "2", Tags: []string{"sea"}, Language: "de"}}, "section language tags"},
			"a phrase":            {search.Query{Text: `"digs a canal" marmot`}, "phrase"},
			"a word in quotes":    {search.Query{Text: `"canals" marmot`}, "phrase"},
			"an exclusion":        {search.Query{Text: "marmot -winter"}, "excluded"},
			"no word":             {search.Query{Text: "quarterly tax return"}, "no word"},
			"a word":              {search.Query{Text: "burrow"}, "rank"},
			"filters it passes":   {search.Query{Text: "burrow", Filters: search.Filters{Section: "animals", Languages: []string{"en"}}}, "rank"},
			"another collection":  {search.Query{Text: "burrow", Collection: &other.collection}, "not searched"},
			"a collection filter": {search.Query{Text: "burrow", Filters: search.Filters{Collections: []uuid.UUID{other.collection}}}, "not searched"},
		} {
			c.query.Limit, c.query.MinScore = 10, 0.3
			s, err := e.Standing(t.Context(), id.scope, c.query, document, id.collection)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(s.Filters, " ")
			switch {
			case !s.Searched:
				got = "not searched"
			case !s.Readable:
				got = "not readable"
			case len(s.Phrases) > 0:
				got = "phrase"
			case len(s.Excluded) > 0:
				got = "excluded"
			case s.Rank > 0:
				got = "rank"
			case !s.CommonWord && s.Selected:
				got = "no word"
			}
			if got != c.want {
				t.Errorf("%s: %s: %q, want %q: %+v", name, what, got, c.want, s)
			}
		}
	}
}

func TestAStandingCountsPassagesBeyondTheThirdOfADocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	paragraph := "The marmot digs a burrow under the meadow. " + strings.Repeat("It has several chambers for food and for sleep in winter. ", 20)
	document := f.add(id, "a", "# Marmots\n\n"+strings.Repeat("## The marmot's burrow\n\n"+paragraph+"\n\n", 6), nil)
	query := search.Query{Text: "marmot burrow", Limit: 10, MinScore: 0.3}
	results := f.search(id, query)
	s, err := f.engine.Standing(t.Context(), id.scope, query, document, id.collection)
	if err != nil {
		t.Fatal(err)
	}
	passages := f.strings("select id::text from passages")
	if len(results.Hits) != 3 || s.Rank != 1 || s.Cut == 0 || s.Cut > len(passages)-3 {
		t.Errorf("of %d passages, %d are results; standing %+v", len(passages), len(results.Hits), s)
	}
	if slices.Contains(s.Filters, "section") {
		t.Errorf("filters %v", s.Filters)
	}
}
