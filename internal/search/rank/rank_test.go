package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
)

func TestFallChangesAsLittleAsPossible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want []float64 }{
		"falling already": {[]float64{3, 2, 1}, []float64{3, 2, 1}},
		"one violator":    {[]float64{3, 1, 2, 0}, []float64{3, 1.5, 1.5, 0}},
		"all rising":      {[]float64{1, 2, 3}, []float64{2, 2, 2}},
		"alone":           {[]float64{7}, []float64{7}},
		"none":            {nil, nil},
	} {
		got := slices.Clone(c.in)
		fall(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v becomes %v, want %v", name, c.in, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]float64, 1+random.IntN(50))
		sum := 0.0
		for i := range values {
			values[i] = random.NormFloat64()
			sum += values[i]
		}
		fall(values)
		for i := range values {
			sum -= values[i]
			if i > 0 && values[i] > values[i-1]+1e-12 {
				t.Fatalf("%v rises", values)
			}
		}
		if math.Abs(sum) > 1e-9 {
			t.Fatalf("the sum moved by %v", sum)
		}
	}
}

func TestScoresFallStrictlyAndStayBetween0And1(t *testing.T) {
	t.Parallel()
	last := 1.0
	for place := range PoolSize {
		s := confidence(0.7, place)
		if s >= last || s <= 0 || s >= 1 {
			t.Fatalf("place %d has %v after %v", place, s, last)
		}
		last = s
	}
}

func TestTheGateClosesWhereFewStandOut(t *testing.T) {
	t.Parallel()
	scores := func(behind float64) []ranking {
		out := make([]ranking, 12)
		for i := range out {
			out[i] = ranking{c: &Candidate{Document: uuid.New()}, x: 10}
			if i > 0 {
				out[i].x = 10 * (1 - behind)
			}
		}
		return out
	}
	if g := gate(scores(0.1)); g != 1 {
		t.Errorf("many good documents open it to %v", g)
	}
	if g := gate(scores(0.9)); g != 0 {
		t.Errorf("one clear winner opens it to %v", g)
	}
	if g := gate(scores((gateOpen + gateClosed) / 2)); math.Abs(g-0.5) > 1e-9 {
		t.Errorf("half way it is %v", g)
	}
	if g := gate(scores(0.1)[:5]); g != 0 {
		t.Errorf("five documents open it to %v", g)
	}
	if g := gate(nil); g != 0 {
		t.Errorf("nothing opens it to %v", g)
	}
}

func TestNeighboursInTheQuestionAreNeighboursInThePassage(t *testing.T) {
	t.Parallel()
	s := search{words: []Word{{Weight: 2}, {Weight: 1}, {Weight: 1}}}
	body := uint16(1024)
	at := func(hits ...Hit) float64 { return s.proximity(hits) }
	side := at(Hit{0, body}, Hit{1, body + 1})
	near := at(Hit{0, body}, Hit{1, body + 5})
	backwards := at(Hit{1, body}, Hit{0, body + 5})
	far := at(Hit{0, body}, Hit{1, body + 50})
	twice := at(Hit{0, body}, Hit{1, body + 1}, Hit{0, body + 20}, Hit{1, body + 21})
	skipped := at(Hit{0, body}, Hit{2, body + 1})
	borders := at(Hit{0, body - 1}, Hit{1, body}) // a path's last word and a body's first
	if !(twice > side && side > near && near == backwards && near > 0) || far != 0 || skipped != 0 || borders != 0 {
		t.Errorf("side by side %v, near %v, backwards %v, far %v, twice %v, skipped %v, across fields %v",
			side, near, backwards, far, twice, skipped, borders)
	}
	one := search{words: []Word{{Weight: 2}}}
	if p := one.proximity([]Hit{{0, body}}); p != 0 {
		t.Errorf("one word has %v", p)
	}
}

func TestNamesGetNoSecondPass(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	for text, exact := range map[string]bool{
		"kv.rangefeed.enabled": true, "upgrade to v1.2.3": true, `"range feed" lag`: true, "ERR4211 in the log": true,
		"two-dimensional flow": false, "who won in 1999": false, "how do I restore a backup": false,
	} {
		if q := NewQuestion(a, text, "en", false); q.exact != exact {
			t.Errorf("%q names something exactly: %v", text, q.exact)
		}
	}
}

func TestQuestionsAreNeverEmptyAndBounded(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	if q := NewQuestion(a, "to be or not to be", "en", false); len(q.words) == 0 {
		t.Error("stop words alone are no question")
	}
	long := make([]byte, 0, 50000)
	for i := range 5000 {
		long = append(long, "word"...)
		long = append(long, byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676), ' ')
	}
	if q := NewQuestion(a, string(long), "en", false); len(q.words) > maxWords {
		t.Errorf("%d words", len(q.words))
	}
	seen := map[string]bool{}
	for _, term := range NewQuestion(a, "Running runs run RUNNING", "en", false).Terms() {
		if seen[term] {
			t.Errorf("%q is there twice", term)
		}
		seen[term] = true
	}
}

func TestBM25FDampsAndNormalises(t *testing.T) {
	t.Parallel()
	once, often := Damped(Counts{Body: 1}, 1), Damped(Counts{Body: MaxBody}, 1)
	if !(often > once && often < 1 && once > 0) {
		t.Errorf("once %v, often %v", once, often)
	}
	if long := Damped(Counts{Body: 1}, BodyNorm(400, 100)); long >= once {
		t.Errorf("in a long body %v, in a mean one %v", long, once)
	}
	if title := Damped(Counts{Title: true}, 1); title <= once {
		t.Errorf("in a title %v, in a body %v", title, once)
	}
	if n := BodyNorm(10, 0); n != 1 {
		t.Errorf("without a mean the norm is %v", n)
	}
	counts := make([]Counts, 1)
	countsOf([]Hit{{0, 1}, {0, 300}, {0, 600}, {0, 2000}, {0, 2001}}, counts)
	if (counts[0] != Counts{Title: true, Heading: true, Path: true, Body: 2}) {
		t.Errorf("fields are counted as %+v", counts[0])
	}
}
