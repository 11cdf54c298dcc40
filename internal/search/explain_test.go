package search_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// near reports whether two numbers are equal up to rounding.
func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(a)) }

// TestExplanationsAddUp checks the sums of explanations on both tiers, and that both
// explain the words of a passage alike.
func TestExplanationsAddUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	compared, expanded := 0, 0
	for _, q := range demoQuestions(t) {
		query := search.Query{Text: q.Query, Limit: 10, MinScore: 0.3, Explain: true}
		resident := f.search(id, query)
		other, err := stored.Search(t.Context(), id.scope, query)
		if err != nil {
			t.Fatal(err)
		}
		byPassage := make(map[uuid.UUID]*search.Explanation)
		for _, h := range other.Hits {
			checkSums(t, q.Query, &h, search.TierStored)
			byPassage[h.Passage] = h.Explanation
		}
		for _, h := range resident.Hits {
			checkSums(t, q.Query, &h, search.TierResident)
			expanded += len(h.Explanation.AddedTerms)
			if y := byPassage[h.Passage]; y != nil {
				compared++
				compareExplanations(t, q.Query, h.Explanation, y)
			}
		}
	}
	if compared < 50 || expanded == 0 {
		t.Errorf("%d results were compared, with %d added terms", compared, expanded)
	}
}

func checkSums(t *testing.T, query string, h *search.Hit, tier search.Tier) {
	t.Helper()
	x := h.Explanation
	if x == nil || x.Tier != tier || x.Change == 0 {
		t.Fatalf("%s: %s has the explanation %+v", query, h.Title, x)
	}
	words, order, logOdds := 0.0, 0.0, 0.0
	for _, w := range x.Words {
		words += w.Score
		if len(w.Fields) == 0 || w.DocumentFrequency == 0 || !near(w.Weight, w.IDF*w.Frequency, 1e-9) || w.Frequency < 1-1e-9 {
			t.Errorf("%s: %s: word %+v", query, h.Title, w)
		}
	}
	for i := range x.Order {
		order += x.Order[i].Product()
	}
	for i := range x.Features {
		if x.Features[i].Name == "" {
			t.Errorf("feature %d has no name", i)
		}
		logOdds += x.Features[i].Product()
	}
	if !near(words, x.BM25F, 1e-9) || !near(order, x.Evidence.Key, 1e-9) || !near(logOdds, x.LogOdds, 1e-9) {
		t.Errorf("%s: %s: words add up to %v of %v, order to %v of %v, log-odds to %v of %v",
			query, h.Title, words, x.BM25F, order, x.Evidence.Key, logOdds, x.LogOdds)
	}
	if x.Confidence != h.Score || x.Rating != nil {
		t.Errorf("%s: %s has the score %v, confidence %v, rating %v", query, h.Title, h.Score, x.Confidence, x.Rating)
	}
	if s := x.Similarity; s != nil && !near(s.ZScore*s.Known, x.Evidence.ZScore, 1e-9) {
		t.Errorf("%s: %s: similarity %+v, but the evidence is %v", query, h.Title, s, x.Evidence.ZScore)
	}
}

// compareExplanations compares two tiers. Vectors in memory are rounded, so that similarities
// differ a little.
func compareExplanations(t *testing.T, query string, a, b *search.Explanation) {
	t.Helper()
	same := slices.EqualFunc(a.Words, b.Words, func(v, w rank.WordExplanation) bool {
		return v.Text == w.Text && slices.Equal(v.Terms, w.Terms) && slices.Equal(v.Fields, w.Fields) &&
			v.DocumentFrequency == w.DocumentFrequency && near(v.Weight, w.Weight, 1e-9) && near(v.Score, w.Score, 1e-6)
	})
	byTerm := func(x, y rank.TermExplanation) int { return cmp.Compare(x.Term, y.Term) }
	same = same && slices.EqualFunc(slices.SortedFunc(slices.Values(a.AddedTerms), byTerm), slices.SortedFunc(slices.Values(b.AddedTerms), byTerm),
		func(v, w rank.TermExplanation) bool {
			return v.Term == w.Term && v.Matches == w.Matches && near(v.Weight, w.Weight, 1e-6) && near(v.Score, w.Score, 1e-6)
		})
	if !same || !near(a.Gate, b.Gate, 1e-6) || (a.Similarity == nil) != (b.Similarity == nil) {
		t.Errorf("%s: the tiers explain a passage differently:\n%+v\n%+v", query, a.Explanation, b.Explanation)
	}
	if a.Similarity != nil && !near(a.Similarity.Cosine, b.Similarity.Cosine, 0.03) {
		t.Errorf("%s: similarity %v in memory, %v in PostgreSQL", query, a.Similarity.Cosine, b.Similarity.Cosine)
	}
}

func TestAnExplanationNamesTheFieldsOfAWord(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a", "# Marmots\n\n## Burrows of marmots\n\nA marmot digs. Marmots dig burrows, and other animals use them.", nil)
	f.add(id, "b", "# Beavers\n\nBeavers dig canals.", nil)
	hits := f.search(id, search.Query{Text: "marmot burrows", Explain: true}).Hits
	if len(hits) == 0 {
		t.Fatal("nothing was found")
	}
	occurrences := make(map[string]map[index.Field]int)
	for _, w := range hits[0].Explanation.Words {
		occurrences[w.Text] = make(map[index.Field]int)
		for _, field := range w.Fields {
			occurrences[w.Text][field.Field] = field.Count
		}
	}
	if n := occurrences["marmot"]; n[index.FieldTitle] != 1 || n[index.FieldBody] != 2 {
		t.Errorf("occurrences of marmot: %v", n)
	}
	if n := occurrences["burrows"]; n[index.FieldTitle] != 0 || n[index.FieldBody] == 0 {
		t.Errorf("occurrences of burrows: %v", n)
	}
	if hits := f.search(id, search.Query{Text: "marmot burrows"}).Hits; len(hits) == 0 || hits[0].Explanation != nil {
		t.Error("a search that does not ask for explanations has one, or no result")
	}
}
