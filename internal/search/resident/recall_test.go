package resident_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// vectored is a passage with a vector.
type vectored struct {
	id     uuid.UUID
	vector []float32
}

// indexOf returns an index with a document for each vector.
func indexOf(tb testing.TB, opt resident.Options, list []vectored) *resident.Index {
	tb.Helper()
	x := resident.New(opt)
	c := x.Change()
	if err := c.Begin(index.Position{Generation: 1}, "m", true); err != nil {
		tb.Fatal(err)
	}
	for _, v := range list {
		e := &index.Entry{Document: v.id, Live: true, Passages: []index.EntryPassage{{ID: v.id, Vector: v.vector}}}
		if err := c.Entry(e); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := c.Commit(); err != nil {
		tb.Fatal(err)
	}
	return x
}

// exactSimilarities returns the similarity of every passage to a vector, by passage and
// in falling order.
func exactSimilarities(list []vectored, q []float32) (of map[uuid.UUID]float64, falling []float64) {
	of = make(map[uuid.UUID]float64, len(list))
	for _, v := range list {
		s := 0.0
		for i, x := range q {
			s += float64(x) * float64(v.vector[i])
		}
		of[v.id] = s
		falling = append(falling, s)
	}
	slices.SortFunc(falling, func(a, b float64) int { return cmp.Compare(b, a) })
	return of, falling
}

// recalls returns the recall at 10, 100 and 1000 of a request for the 1000 most similar
// passages that compares so many vectors by their components. A passage that is less
// similar than the last expected one by no more than the tolerance counts as found.
func recalls(tb testing.TB, list []vectored, questions [][]float32, compared int, tolerance float64) (shares [3]float64) {
	tb.Helper()
	s := indexOf(tb, resident.Options{CompareFactor: 1, MinCompared: compared}, list).Snapshot()
	for _, q := range questions {
		candidates, err := s.View(nil).Candidates(tb.Context(), &rank.Request{Vector: q, TopSimilar: 1000})
		if err != nil {
			tb.Fatal(err)
		}
		slices.SortFunc(candidates, func(a, b rank.Candidate) int { return cmp.Compare(b.Similarity, a.Similarity) })
		of, falling := exactSimilarities(list, q)
		for i, k := range []int{10, 100, 1000} {
			n := 0
			for _, c := range candidates[:k] {
				if of[c.Passage] >= falling[k-1]-tolerance {
					n++
				}
			}
			shares[i] += float64(n) / float64(k) / float64(len(questions))
		}
	}
	return shares
}

func clustered(seed uint64, n, length int) (list []vectored, questions [][]float32) {
	w := newWorld(seed, 1, length)
	r := rand.New(rand.NewPCG(seed, 1))
	centres := make([][]float32, n/150)
	for i := range centres {
		centres[i] = w.vector(length)
	}
	for range n {
		list = append(list, vectored{w.id(), perturbed(r, centres[r.IntN(len(centres))], length, 0.8)})
	}
	for range 50 {
		questions = append(questions, perturbed(r, centres[r.IntN(len(centres))], length, 0.8))
	}
	return list, questions
}

// BenchmarkRecall reports the recall of similar passages, by the number of vectors that
// are compared by their components.
func BenchmarkRecall(b *testing.B) {
	run := func(name string, list []vectored, questions [][]float32) {
		for _, compared := range []int{1000, 2000, 3000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", name, compared), func(b *testing.B) {
				var s [3]float64
				for b.Loop() {
					s = recalls(b, list, questions, compared, equalText)
				}
				b.ReportMetric(s[0], "recall@10")
				b.ReportMetric(s[1], "recall@100")
				b.ReportMetric(s[2], "recall@1000")
			})
		}
	}
	list, questions := corporaVectors(b)
	run(fmt.Sprintf("corpora-%d", len(list[0].vector)), list, questions)
	for _, length := range []int{32, 384, 1024} {
		list, questions := clustered(1, 20000, length)
		run(fmt.Sprintf("clustered-%d", length), list, questions)
	}
}

func corporaVectors(tb testing.TB) (list []vectored, questions [][]float32) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for _, e := range needCorpora(tb) {
		for _, p := range e.Passages {
			if len(list)%190 == 0 {
				questions = append(questions, perturbed(r, p.Vector, len(p.Vector), 0.5))
			}
			list = append(list, vectored{p.ID, p.Vector})
		}
	}
	return list, questions
}

// Tolerances of recalls. Passages with equal texts are exchangeable, and int8 components
// change a cosine by about half a thousandth.
const (
	equalText    = 1e-6
	int8Rounding = 1e-3
)

func TestRecallIsCloseToExactSearch(t *testing.T) {
	t.Parallel()
	for _, length := range []int{48, 384} {
		list, questions := clustered(3, 6000, length)
		s := recalls(t, list, questions, 2000, int8Rounding)
		if s[0] < 0.99 || s[1] < 0.99 {
			t.Errorf("vectors of %d: recall@10 %.4f, @100 %.4f", length, s[0], s[1])
		}
		if s := recalls(t, list, questions, 2000, equalText); s[0] < 0.98 || s[1] < 0.98 {
			t.Errorf("vectors of %d without tolerance: recall@10 %.4f, @100 %.4f", length, s[0], s[1])
		}
	}
}
