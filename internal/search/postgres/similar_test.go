package postgres_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// word returns a random word of a few letters, so that many words are near to each other.
func word(random *rand.Rand) string {
	letters := []rune([]string{"abc", "abc", "aăáb", "абв"}[random.IntN(4)])
	var out []rune
	for range 2 + random.IntN(9) {
		out = append(out, letters[random.IntN(len(letters))])
	}
	return string(out)
}

func TestSimilarWordsEqualBruteForce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(31, 32))
	id := f.tenant()
	vocabulary := []string{"a1b2", "ab-cab"}
	for range 200 {
		vocabulary = append(vocabulary, word(random))
	}
	for d := range 60 {
		texts := make([]string, 3)
		for i := range texts {
			for range 6 {
				texts[i] += vocabulary[random.IntN(len(vocabulary))] + " "
			}
		}
		r := id.record(random, string(rune('A'+d)), "Title", texts...)
		r.Language, r.Section = []string{"vi", "xx"}[d%2], []string{"guide", ""}[d/2%2]
		if d%3 == 0 {
			r.Readers = []string{"ann"}
		}
		f.put(id, r)
	}
	check := func(state string, exact bool) {
		t.Helper()
		all, found := f.oracle(id), 0
		for name, filter := range map[string]*rank.Filter{"none": nil, "reader": {Readers: []string{"ben"}}, "section": in(rank.FacetSection, "guide")} {
			s := f.open(id, filter)
			if filter == nil {
				filter = &rank.Filter{}
			}
			count := map[string]int{}
			for _, e := range all.selected(filter) {
				for term := range e.lexemes {
					count[term]++
				}
			}
			for range 12 {
				w, limit := word(random), 1+random.IntN(12)
				pattern, ok := spelling.NewPattern(w, []string{w}, random.IntN(4) == 0)
				if !ok {
					continue
				}
				var want []rank.SimilarTerm
				for term, n := range count {
					if d, ok := pattern.Distance(term); ok {
						want = append(want, rank.SimilarTerm{Term: term, Distance: d, Frequency: n})
					}
				}
				slices.SortFunc(want, rank.CompareSimilar)
				got, err := s.Similar(t.Context(), pattern, limit)
				if err != nil {
					t.Fatal(err)
				}
				found += len(got)
				if exact {
					if diff := gocmp.Diff(want[:min(limit, len(want))], got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%s, filter %s: Similar(%q) (-want +got):\n%s", state, name, w, diff)
					}
					continue
				}
				for _, g := range got {
					if !slices.ContainsFunc(want, func(w rank.SimilarTerm) bool { return w.Term == g.Term && w.Distance == g.Distance }) {
						t.Errorf("%s, filter %s: Similar(%q) has %+v, want of %+v", state, name, w, g, want)
					}
				}
			}
			asked := append(slices.Clone(vocabulary[:40]), "nowhere")
			contains, err := s.Contains(t.Context(), asked)
			for i, term := range asked {
				if err != nil || contains[i] != (count[strings.ToLower(term)] > 0) {
					t.Errorf("%s, filter %s: Contains(%q) = %v, %v, in %d passages", state, name, term, contains[i], err, count[term])
				}
			}
			s.Close(t.Context())
		}
		if found < 20 {
			t.Errorf("%s: %d terms were similar", state, found)
		}
	}
	check("without indexes", true)
	f.outgrow(id)
	check("with indexes", false)
}

func TestSimilarWordsOfALargeCollectionWithoutAFilterEqualBruteForce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(33, 34))
	id, other := f.tenant(), f.tenant()
	for d := range 30 {
		for _, tenant := range []tenant{id, other} {
			f.put(tenant, tenant.record(random, string(rune('A'+d)), "Title", word(random)+" "+word(random), word(random)))
		}
	}
	f.outgrow(id)
	f.outgrow(other)
	all := f.oracle(id)
	count := map[string]int{}
	for _, e := range all.selected(&rank.Filter{}) {
		for term := range e.lexemes {
			count[term]++
		}
	}
	s := f.open(id, nil)
	for range 40 {
		w := word(random)
		pattern, ok := spelling.NewPattern(w, []string{w}, false)
		if !ok {
			continue
		}
		var want []rank.SimilarTerm
		for term, n := range count {
			if d, ok := pattern.Distance(term); ok {
				want = append(want, rank.SimilarTerm{Term: term, Distance: d, Frequency: n})
			}
		}
		slices.SortFunc(want, rank.CompareSimilar)
		got, err := s.Similar(t.Context(), pattern, 12)
		if diff := gocmp.Diff(want[:min(12, len(want))], got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("Similar(%q) (-want +got): %v\n%s", w, err, diff)
		}
	}
}
