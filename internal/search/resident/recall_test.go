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

// indexOf puts vectors into an index, a document each.
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

// exactly returns the similarity of every passage to a vector, and those of the
// nearest ones in falling order.
func exactly(list []vectored, q []float32) (of map[uuid.UUID]float64, falling []float64) {
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

// recalls returns which share of the exactly nearest 10, 100 and 1000 passages
// are among as many of a search for 1000.
// A passage counts that is as near as the last of them, but for the slack.
func recalls(tb testing.TB, list []vectored, questions [][]float32, rescored int, slack float64) (shares [3]float64) {
	tb.Helper()
	s := indexOf(tb, resident.Options{Rescored: 1, LeastRescored: rescored}, list).Snapshot()
	for _, q := range questions {
		found, err := s.View(nil).Candidates(tb.Context(), &rank.Request{Vector: q, Nearest: 1000})
		if err != nil {
			tb.Fatal(err)
		}
		slices.SortFunc(found, func(a, b rank.Candidate) int { return cmp.Compare(b.Similarity, a.Similarity) })
		of, falling := exactly(list, q)
		for i, k := range []int{10, 100, 1000} {
			n := 0
			for _, c := range found[:k] {
				if of[c.Passage] >= falling[k-1]-slack {
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
		list = append(list, vectored{w.id(), moved(r, centres[r.IntN(len(centres))], length, 0.8)})
	}
	for range 50 {
		questions = append(questions, moved(r, centres[r.IntN(len(centres))], length, 0.8))
	}
	return list, questions
}

// BenchmarkRecall prints which share of the nearest passages of the corpora is
// found, by how many are compared exactly.
func BenchmarkRecall(b *testing.B) {
	run := func(name string, list []vectored, questions [][]float32) {
		for _, rescored := range []int{1000, 2000, 3000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", name, rescored), func(b *testing.B) {
				var s [3]float64
				for b.Loop() {
					s = recalls(b, list, questions, rescored, sameText)
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
				questions = append(questions, moved(r, p.Vector, len(p.Vector), 0.5))
			}
			list = append(list, vectored{p.ID, p.Vector})
		}
	}
	return list, questions
}

// Passages of the same text are as good as one another. Bytes for components are
// off by about half a thousandth of the cosine.
const (
	sameText = 1e-6
	ofBytes  = 1e-3
)

func TestRecallIsThatOfExactSearch(t *testing.T) {
	t.Parallel()
	for _, length := range []int{48, 384} {
		list, questions := clustered(3, 6000, length)
		s := recalls(t, list, questions, 2000, ofBytes)
		if s[0] < 0.99 || s[1] < 0.99 {
			t.Errorf("vectors of %d: recall@10 %.4f, @100 %.4f", length, s[0], s[1])
		}
		if s := recalls(t, list, questions, 2000, sameText); s[0] < 0.98 || s[1] < 0.98 {
			t.Errorf("vectors of %d, strictly: recall@10 %.4f, @100 %.4f", length, s[0], s[1])
		}
	}
}
