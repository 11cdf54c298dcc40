package traffic

import (
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/eval"
	"github.com/magpie-search/magpie/internal/usage/analytics"
)

// The grades of documents. A click is the likelier the higher the result stands. A click
// on position p, from 1, counts p times, up to 10 (inverse propensity weighting with the
// propensity 1/p; Joachims, Swaminathan and Schnabel, Unbiased Learning-to-Rank with
// Biased Feedback, 2017). The corrected click rate is the sum, divided by the number of
// times that the question was asked. A thumb up or down is two clicks on position 1.
const (
	thumbWeight = 2

	perfectRate = 0.5 // least rate of grade 3
	goodRate    = 0.2 // least rate of grade 2; any other rate above 0 is grade 1
)

// grade returns the grade of a document that was chosen for a question that was asked so
// often.
func grade(c *analytics.Chosen, asked int) int {
	rate := (c.Weight + thumbWeight*float64(c.Positive-c.Negative)) / float64(max(asked, 1))
	switch {
	case rate >= perfectRate:
		return 3
	case rate >= goodRate:
		return 2
	case rate > 0:
		return 1
	default:
		return 0
	}
}

// judgements returns the grades of the chosen documents of a question.
func judgements(a *analytics.Asked) map[uuid.UUID]int {
	grades := make(map[uuid.UUID]int, len(a.Chosen))
	for i := range a.Chosen {
		grades[a.Chosen[i].Document] = grade(&a.Chosen[i], a.Count)
	}
	return grades
}

// relevant returns the number of documents with a grade above 0.
func relevant(grades map[uuid.UUID]int) int {
	n := 0
	for _, g := range grades {
		if g > 0 {
			n++
		}
	}
	return n
}

// figures measures a ranking by the grades of one question.
func figures(grades map[uuid.UUID]int, documents []uuid.UUID) (ndcg, mrr float64) {
	judged := make(map[string]int, len(grades))
	for id, g := range grades {
		judged[id.String()] = g
	}
	var ranked []string
	for _, id := range documents {
		if s := id.String(); !slices.Contains(ranked, s) {
			ranked = append(ranked, s)
		}
	}
	f := eval.Measure(map[string]map[string]int{"": judged}, map[string][]string{"": ranked})
	return f.NDCG10, f.MRR10
}
