package eval

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Figures are means over the judged questions of a set.
type Figures struct {
	NDCG10, Recall100, MRR10 float64
	Questions                int
}

// Measure scores the ranked documents of each question, best first, as trec_eval does. The
// gain of nDCG is the grade (linear), the discount 1/log2(rank+1). A document is relevant if
// its grade is above 0. A question with judgements but no ranking scores 0.
func Measure(judged map[string]map[string]int, ranked map[string][]string) Figures {
	var f Figures
	for _, question := range slices.Sorted(maps.Keys(judged)) {
		grades := judged[question]
		var ideal []int
		for _, grade := range grades {
			if grade > 0 {
				ideal = append(ideal, grade)
			}
		}
		if len(ideal) == 0 {
			continue
		}
		slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(b, a) })
		best, gain, found, reciprocal := 0.0, 0.0, 0, 0.0
		for i, grade := range ideal[:min(len(ideal), 10)] {
			best += float64(grade) / math.Log2(float64(i)+2)
		}
		for i, document := range ranked[question] {
			grade := grades[document]
			if grade <= 0 || i >= 100 {
				continue
			}
			found++
			if i < 10 {
				gain += float64(grade) / math.Log2(float64(i)+2)
				if reciprocal == 0 {
					reciprocal = 1 / float64(i+1)
				}
			}
		}
		f.NDCG10 += gain / best
		f.Recall100 += float64(found) / float64(len(ideal))
		f.MRR10 += reciprocal
		f.Questions++
	}
	if f.Questions > 0 {
		n := float64(f.Questions)
		f.NDCG10, f.Recall100, f.MRR10 = f.NDCG10/n, f.Recall100/n, f.MRR10/n
	}
	return f
}
