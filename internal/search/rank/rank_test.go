package rank

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
)

func TestAntitonicIsTheClosestFallingFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want []float64 }{
		"already falling": {[]float64{3, 2, 1}, []float64{3, 2, 1}},
		"one violator":    {[]float64{3, 1, 2, 0}, []float64{3, 1.5, 1.5, 0}},
		"all rising":      {[]float64{1, 2, 3}, []float64{2, 2, 2}},
		"one value":       {[]float64{7}, []float64{7}},
		"none":            {nil, nil},
	} {
		got := slices.Clone(c.in)
		antitonic(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: antitonic(%v) = %v, want %v", name, c.in, got, c.want)
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
		antitonic(values)
		for i := range values {
			sum -= values[i]
			if i > 0 && values[i] > values[i-1]+1e-12 {
				t.Fatalf("antitonic returned values that rise: %v", values)
			}
		}
		if math.Abs(sum) > 1e-9 {
			t.Fatalf("antitonic changed the sum by %v", sum)
		}
	}
}

func TestScoresFallStrictlyAndStayBetween0And1(t *testing.T) {
	t.Parallel()
	last := 1.0
	for place := range PoolSize {
		s := confidence(0.7, place)
		if s >= last || s <= 0 || s >= 1 {
			t.Fatalf("confidence(0.7, %d) = %v, want less than %v and between 0 and 1", place, s, last)
		}
		last = s
	}
}

func TestTheGateClosesWhereFewDocumentsStandOut(t *testing.T) {
	t.Parallel()
	scores := func(gap float64) []lexicalEntry {
		out := make([]lexicalEntry, 12)
		for i := range out {
			out[i] = lexicalEntry{candidate: &Candidate{Document: uuid.New()}, score: 10}
			if i > 0 {
				out[i].score = 10 * (1 - gap)
			}
		}
		return out
	}
	if g := gate(scores(0.1)); g != 1 {
		t.Errorf("gate of many good documents = %v, want 1", g)
	}
	if g := gate(scores(0.9)); g != 0 {
		t.Errorf("gate of one clear winner = %v, want 0", g)
	}
	if g := gate(scores((gateOpen + gateClosed) / 2)); math.Abs(g-0.5) > 1e-9 {
		t.Errorf("gate of a gap half way = %v, want 0.5", g)
	}
	if g := gate(scores(0.1)[:5]); g != 0 {
		t.Errorf("gate of five documents = %v, want 0", g)
	}
	if g := gate(nil); g != 0 {
		t.Errorf("gate of no documents = %v, want 0", g)
	}
}

func TestProximityCountsNeighboursOfTheQuestion(t *testing.T) {
	t.Parallel()
	s := search{words: []Word{{Weight: 2}, {Weight: 1}, {Weight: 1}}}
	body := uint16(1024)
	proximity := func(matches ...Match) float64 { return s.proximity(matches) }
	adjacent := proximity(Match{0, body}, Match{1, body + 1})
	near := proximity(Match{0, body}, Match{1, body + 5})
	reversed := proximity(Match{1, body}, Match{0, body + 5})
	far := proximity(Match{0, body}, Match{1, body + 50})
	twice := proximity(Match{0, body}, Match{1, body + 1}, Match{0, body + 20}, Match{1, body + 21})
	skipped := proximity(Match{0, body}, Match{2, body + 1})
	acrossFields := proximity(Match{0, body - 1}, Match{1, body}) // the last word of a path and the first of the body
	if !(twice > adjacent && adjacent > near && near == reversed && near > 0) || far != 0 || skipped != 0 || acrossFields != 0 {
		t.Errorf("proximity of adjacent words %v, near %v, reversed %v, far %v, twice adjacent %v, with a word between in the question %v, across fields %v",
			adjacent, near, reversed, far, twice, skipped, acrossFields)
	}
	one := search{words: []Word{{Weight: 2}}}
	if p := one.proximity([]Match{{0, body}}); p != 0 {
		t.Errorf("proximity of one word = %v, want 0", p)
	}
}

func TestIdentifiersAndPhrasesGetNoFeedback(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	for text, exact := range map[string]bool{
		"kv.rangefeed.enabled": true, "upgrade to v1.2.3": true, `"range feed" lag`: true, "ERR4211 in the log": true,
		"two-dimensional flow": false, "e.g. a backup in the U.S.A.": false, "flow at mach 0.35": false, "who won in 1999": false, "how do I restore a backup": false,
	} {
		if q := NewQuestion(a, text, "en", false); q.exact != exact {
			t.Errorf("NewQuestion(%q).exact = %v, want %v", text, q.exact, exact)
		}
	}
}

func TestQuestionsAreBoundedAndNeverEmpty(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	if q := NewQuestion(a, "to be or not to be", "en", false); len(q.words) == 0 {
		t.Error("a question of stop words alone has no words")
	}
	long := make([]byte, 0, 50000)
	for i := range 5000 {
		long = append(long, "word"...)
		long = append(long, byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676), ' ')
	}
	if q := NewQuestion(a, string(long), "en", false); len(q.words) > analysis.MaxQueryWords {
		t.Errorf("a long question has %d words, want at most %d", len(q.words), analysis.MaxQueryWords)
	}
	var s search
	for i := range 3 * maxQuestionWords {
		s.words, s.surfaces = append(s.words, Word{Weight: float64(i % 7)}), append(s.surfaces, strconv.Itoa(i))
		s.chance.add(chanceWord{1, 1})
	}
	s.limitWords()
	if len(s.words) != maxQuestionWords || len(s.surfaces) != maxQuestionWords {
		t.Fatalf("%d words and %d surfaces are left, want %d", len(s.words), len(s.surfaces), maxQuestionWords)
	}
	for i, w := range s.words {
		if n, _ := strconv.Atoi(s.surfaces[i]); w.Weight < 4 || w.Weight != float64(n%7) {
			t.Errorf("word %s with weight %v is left", s.surfaces[i], w.Weight)
		}
	}
	seen := map[string]bool{}
	for _, term := range NewQuestion(a, "Running runs run RUNNING", "en", false).Terms() {
		if seen[term] {
			t.Errorf("the question has the term %q twice", term)
		}
		seen[term] = true
	}
}

func TestWordsCountAsOftenAsTheyOccur(t *testing.T) {
	t.Parallel()
	q := NewQuestion(analysis.New(), "libraries and a library of library records, in-library", "en", false)
	counts := make(map[string]float64)
	for _, w := range q.words {
		counts[w.surface] = w.count
	}
	// A compound is an occurrence of its parts.
	if want := map[string]float64{"libraries": 4, "records": 1, "in": 1}; !maps.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
}

func TestALongQuestionIsABagOfWords(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	const short = `the "open source" client -helm of config.yaml`
	if q := NewQuestion(a, short, "en", false); len(q.phrases) != 1 || len(q.excluded) != 1 || !q.exact {
		t.Errorf("a short question: %+v", q)
	}
	long := short + strings.Repeat(" and many other words of a paragraph", 3)
	if q := NewQuestion(a, long, "en", false); len(q.phrases) != 0 || len(q.excluded) != 0 || q.exact {
		t.Errorf("a long question: %+v", q)
	}
}

func TestBM25FSaturatesAndNormalises(t *testing.T) {
	t.Parallel()
	once, often := Saturation(Counts{Body: 1}, 1), Saturation(Counts{Body: MaxBody}, 1)
	if !(often > once && often < 1 && once > 0) {
		t.Errorf("saturation of one occurrence %v, of many %v", once, often)
	}
	if long := Saturation(Counts{Body: 1}, LengthNorm(400, 100)); long >= once {
		t.Errorf("saturation in a long body %v, in one of mean length %v", long, once)
	}
	if title := Saturation(Counts{Title: true}, 1); title <= once {
		t.Errorf("saturation in a title %v, in a body %v", title, once)
	}
	if n := LengthNorm(10, 0); n != 1 {
		t.Errorf("LengthNorm without a mean length = %v, want 1", n)
	}
	counts := make([]Counts, 1)
	countMatches([]Match{{0, 1}, {0, 300}, {0, 600}, {0, 2000}, {0, 2001}}, counts)
	if (counts[0] != Counts{Title: true, Heading: true, Path: true, Body: 2}) {
		t.Errorf("countMatches counts %+v", counts[0])
	}
}

func TestTheTermsOfTheOrderAddUpToTheKey(t *testing.T) {
	t.Parallel()
	for _, e := range []Evidence{
		{Interpolation: 0.7, Proximity: 0.5, Title: 1, FirstPassage: true, Known: 1, ZScore: 2, Introduction: 0.3},
		{Interpolation: 0.7, Proximity: 0.5, Stub: true},
		{Known: 1, ZScore: -9, Stub: true},
	} {
		sum := 0.0
		for _, term := range e.orderTerms() {
			sum += term.Product()
		}
		if math.Abs(sum-e.key()) > 1e-12 {
			t.Errorf("the terms of %+v add up to %v, want %v", e, sum, e.key())
		}
	}
}
