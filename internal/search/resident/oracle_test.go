package resident_test

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// rounding bounds the error of a similarity: components are rounded to 127 steps of the
// greatest one.
const rounding = 0.01

func TestAnswersEqualBruteForce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			w := newWorld(seed, 40+int(seed)*20, 1+int(seed*seed)%90)
			o := &oracle{documents: map[uuid.UUID]*index.Entry{}}
			x := resident.New(resident.Options{MinConcurrent: 1 + int(seed%2)<<20, Window: 1 + int(seed*7)}) // side by side, or one after the other
			at := index.Position{Generation: 1}
			for round := range 16 {
				at.Change++
				change(t, w, o, x, at, round%8 == 0)
				for range 3 {
					compare(t, w, o, x.Snapshot())
				}
				if t.Failed() {
					t.Fatalf("seed %d, round %d", seed, round)
				}
			}
		})
	}
}

// TestLargeAndMergedSegmentsEqualBruteForce has terms in many blocks, terms with codes of
// every length, and enough changes that segments are merged.
func TestLargeAndMergedSegmentsEqualBruteForce(t *testing.T) {
	t.Parallel()
	w := newWorld(99, 60, 24)
	w.rare = 120_000
	o := &oracle{documents: map[uuid.UUID]*index.Entry{}}
	x := resident.New(resident.Options{MinCompared: 1 << 20, MinConcurrent: 1, Window: 1000})
	at := index.Position{Generation: 3, Change: 1}
	c := x.Change()
	if err := c.Begin(at, "model", true); err != nil {
		t.Fatal(err)
	}
	for range 1900 {
		e := w.entry(w.id())
		o.documents[e.Document] = e
		if err := c.Entry(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	for round := range 12 {
		for range 1 + round/11*4 {
			compare(t, w, o, x.Snapshot())
		}
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
		at.Change++
		change(t, w, o, x, at, false)
	}
}

func TestTheBackgroundDoesNotDependOnHowPassagesAreStored(t *testing.T) {
	t.Parallel()
	w := newWorld(5, 50, 40)
	one, many := resident.New(resident.Options{}), resident.New(resident.Options{})
	var all []*index.Entry
	sum, squares, n := 0.0, 0.0, 0.0
	q := w.vector(40)
	for i := range int64(5) {
		var some []*index.Entry
		for range 15 {
			e := w.entry(w.id())
			some = append(some, e)
			for _, p := range e.Passages {
				if s := (&passage{entry: e, passage: &p}).similarity(q); !math.IsNaN(s) {
					sum, squares, n = sum+s, squares+s*s, n+1
				}
			}
		}
		if err := many.Apply(index.Position{Change: i}, some); err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	slices.Reverse(all)
	if err := one.Apply(index.Position{Change: 4}, all); err != nil {
		t.Fatal(err)
	}
	a, err := one.Snapshot().View(nil).Background(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	b, err := many.Snapshot().View(in(rank.FacetSection, "blog")).Background(t.Context(), q)
	if err != nil || a.SampleSize != b.SampleSize || math.Abs(a.Mean-b.Mean) > 1e-9 || math.Abs(a.StdDev-b.StdDev) > 1e-9 {
		t.Errorf("Background() = %+v in one segment, %+v in many, error %v", a, b, err)
	}
	mean := sum / n
	if a.SampleSize != int(n) || math.Abs(a.Mean-mean) > rounding || math.Abs(a.StdDev-math.Sqrt(squares/n-mean*mean)) > rounding {
		t.Errorf("Background() = %+v, want mean %v of %v", a, mean, n)
	}
	if none, err := one.Snapshot().View(nil).Background(t.Context(), w.vector(7)); err != nil || none.SampleSize != 0 {
		t.Errorf("Background() of another length = %+v, %v, want no sample", none, err)
	}
}

// change makes the same random changes to the oracle and the index.
func change(t *testing.T, w *world, o *oracle, x *resident.Index, at index.Position, all bool) {
	t.Helper()
	c := x.Change()
	if err := c.Begin(at, "model", all); err != nil {
		t.Fatal(err)
	}
	if all {
		clear(o.documents)
	}
	ids := slices.SortedFunc(maps.Keys(o.documents), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for range 1 + w.IntN(40) {
		id := w.id()
		if len(ids) > 0 && w.IntN(2) == 0 {
			id = ids[w.IntN(len(ids))]
		}
		e := &index.Entry{Document: id}
		if w.IntN(4) > 0 {
			e = w.entry(id)
		}
		if err := c.Entry(e); err != nil {
			t.Fatal(err)
		}
		delete(o.documents, id)
		if e.Live {
			o.documents[id] = e
		}
		ids = append(ids, id)
	}
	s, err := c.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if s.Position != at || s.Model() != "model" {
		t.Errorf("position %v, model %q", s.Position, s.Model())
	}
}

func (w *world) filter(o *oracle) *rank.Filter {
	f := &rank.Filter{}
	if w.IntN(3) == 0 {
		return f
	}
	switch w.IntN(11) {
	case 0:
		f.Values[rank.FacetSection] = nonEmpty(w.choose("guide", "blog", "nowhere"), w.choose("", "reference"))
	case 1:
		f.Values[rank.FacetVersion], f.Values[rank.FacetLanguage] = nonEmpty(w.choose("", "v1")), nonEmpty(w.choose("de", "en"))
	case 2:
		f.Values[rank.FacetTag] = []string{w.choose("x", "y", "unknown"), w.choose("z", "w")}
	case 3:
		f.Values[rank.FacetDocType] = []string{w.choose("page", "faq"), w.choose("api", "faq")}
	case 9:
		f.Values[rank.FacetSource] = []string{w.choose("s3", "slack")}
	case 10:
		f.Values[rank.FacetConnector] = []string{w.choose("k1", "k2", "k3"), "k4"}
	case 4:
		for id := range o.documents {
			if f.Documents = append(f.Documents, id); len(f.Documents) > 3 {
				break
			}
		}
		f.Documents = append(f.Documents, w.id())
	case 5:
		f.From = time.Unix(int64(w.IntN(1000)-800), int64(w.IntN(1e9)))
	case 6:
		f.From, f.Until = time.Unix(-700, 0), time.Unix(int64(w.IntN(1000)), int64(w.IntN(1e9)))
	case 7:
		f.Readers = [][]string{{}, {"anna"}, {"ben", "ops"}, {"nobody"}}[w.IntN(4)]
	}
	phrase := func() rank.Phrase {
		if w.IntN(3) == 0 { // terms of a passage
			var out rank.Phrase
			o.each(func(k *passage) {
				if out != nil || len(k.terms) < 3 || w.IntN(5) > 0 {
					return
				}
				first := w.IntN(len(k.terms) - 2)
				for _, t := range k.terms[first : first+2+w.IntN(2)] {
					out = append(out, []string{t.term})
				}
			})
			return out
		}
		p := rank.Phrase{{w.term(), w.term()}}
		for range w.IntN(2) {
			p = append(p, []string{w.term(), w.term(), w.term()})
		}
		return p
	}
	if w.IntN(2) == 0 {
		if p := phrase(); len(p) > 0 {
			f.Phrases = append(f.Phrases, p)
		}
	}
	if w.IntN(2) == 0 {
		if p := phrase(); len(p) > 0 {
			f.Excluded = append(f.Excluded, p)
		}
	}
	return f
}

func (w *world) request() *rank.Request {
	r := &rank.Request{AverageBody: float64(w.IntN(200)), TopLexical: w.IntN(40), TopSimilar: w.IntN(40)}
	used := map[string]bool{}
	for range w.IntN(6) {
		word := rank.Word{Weight: 0.1 + w.Float64()}
		for range 1 + w.IntN(2) {
			if t := w.term(); !used[t] {
				used[t] = true
				word.Terms = append(word.Terms, t)
			}
		}
		if len(word.Terms) > 0 {
			r.Words = append(r.Words, word)
		}
	}
	r.MatchWords = w.IntN(len(r.Words) + 1)
	if w.IntN(5) > 0 {
		r.Vector = w.vector(w.length)
	}
	return r
}

func compare(t *testing.T, w *world, o *oracle, s *resident.Snapshot) {
	t.Helper()
	f := w.filter(o)
	v := s.View(f)
	compareCounts(t, w, o, v)
	var left []*passage
	o.each(func(k *passage) {
		if k.satisfies(f) {
			left = append(left, k)
		}
	})
	r := w.request()
	got, err := v.Candidates(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	compareCandidates(t, r, left, got)
	compareFacets(t, w, v, left, got)

	rescore := &rank.Request{Words: r.Words, AverageBody: r.AverageBody, Vector: r.Vector, MatchWords: len(r.Words), Rescore: got}
	rescored, err := v.Candidates(t.Context(), rescore)
	if err != nil || len(rescored) != len(got) {
		t.Errorf("%d candidates become %d when rescored, error %v", len(got), len(rescored), err)
	}
	compareDetails(t, rescore, left, rescored)
	compareTerms(t, v, left, got)
}

func compareCounts(t *testing.T, w *world, o *oracle, v *resident.View) {
	t.Helper()
	want := rank.Statistics{Documents: len(o.documents)}
	frequencies := map[string]int{}
	o.each(func(k *passage) {
		want.Passages++
		want.BodyWords += int64(k.passage.Words[index.FieldBody])
		for term := range k.has {
			frequencies[term]++
		}
	})
	if got, err := v.Statistics(t.Context()); err != nil || got != want {
		t.Errorf("Statistics = %+v, %v, want %+v", got, err, want)
	}
	terms := []string{w.term(), w.term(), "unknown", w.term()}
	got, err := v.DocumentFrequencies(t.Context(), terms)
	for i, term := range terms {
		if err != nil || got[i] != frequencies[term] {
			t.Errorf("DocumentFrequencies(%q) = %d, %v, want %d", term, got[i], err, frequencies[term])
		}
	}
	prefix, limit := w.term()[:1+w.IntN(2)], 1+w.IntN(8)
	if w.IntN(10) == 0 {
		prefix = ""
	}
	var all []string
	for term := range frequencies {
		if strings.HasPrefix(term, prefix) {
			all = append(all, term)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(frequencies[b], frequencies[a]), cmp.Compare(a, b))
	})
	completed, err := v.Complete(t.Context(), prefix, limit)
	if diff := gocmp.Diff(all[:min(limit, len(all))], completed, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("Complete(%q): %v\n%s", prefix, err, diff)
	}
}

func compareCandidates(t *testing.T, r *rank.Request, left []*passage, got []rank.Candidate) {
	t.Helper()
	lexical := func(k *passage) float64 { return k.lexical(r) }
	similar := func(k *passage) float64 { return k.similarity(r.Vector) }
	want := map[uuid.UUID]bool{}
	var worded, vectored []*passage
	for _, k := range left {
		if lexical(k) > 0 {
			worded = append(worded, k)
		}
		if !math.IsNaN(similar(k)) {
			vectored = append(vectored, k)
		}
	}
	slices.SortFunc(worded, byScore(lexical))
	slices.SortFunc(vectored, byScore(similar))
	for _, k := range worded[:min(r.TopLexical, len(worded))] {
		want[k.passage.ID] = true
	}
	// Rounding may exchange passages that are about as similar as the last one.
	maybe := map[uuid.UUID]bool{}
	if n := min(r.TopSimilar, len(vectored)); n > 0 {
		for _, k := range vectored {
			switch d := similar(k) - similar(vectored[n-1]); {
			case d > 2*rounding:
				want[k.passage.ID] = true
			case d > -2*rounding:
				maybe[k.passage.ID] = true
			}
		}
	}
	seen := map[uuid.UUID]bool{}
	for _, c := range got {
		if seen[c.Passage] || !want[c.Passage] && !maybe[c.Passage] {
			t.Errorf("passage %s must not be a candidate", c.Passage)
		}
		seen[c.Passage] = true
	}
	for id := range want {
		if !seen[id] {
			t.Errorf("candidate %s is missing", id)
		}
	}
	compareDetails(t, r, left, got)
}

func compareDetails(t *testing.T, r *rank.Request, left []*passage, got []rank.Candidate) {
	t.Helper()
	byID := map[uuid.UUID]*passage{}
	for _, k := range left {
		byID[k.passage.ID] = k
	}
	for i := range got {
		c := &got[i]
		k := byID[c.Passage]
		if k == nil {
			t.Fatalf("unknown passage %s", c.Passage)
		}
		unix := int64(0)
		if !k.entry.Time.IsZero() {
			unix = k.entry.Time.Unix()
		}
		if c.Document != k.entry.Document || c.Ordinal != k.passage.Ordinal || c.FieldWords != k.passage.Words || c.Time != unix {
			t.Errorf("candidate %+v differs from its passage %+v", c, k.passage)
		}
		if want := k.lexical(r); c.Lexical != want {
			t.Errorf("Lexical = %v, want %v", c.Lexical, want)
		}
		if want := k.similarity(r.Vector); math.IsNaN(want) != math.IsNaN(c.Similarity) || math.Abs(want-c.Similarity) > rounding {
			t.Errorf("Similarity = %v, want %v", c.Similarity, want)
		}
		if diff := gocmp.Diff(k.matches(r), c.Matches, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Matches of %s: %s", c.Passage, diff)
		}
	}
}

func compareFacets(t *testing.T, w *world, v *resident.View, left []*passage, some []rank.Candidate) {
	t.Helper()
	chosen := map[uuid.UUID]bool{}
	for _, c := range some {
		chosen[c.Passage] = true
	}
	ask := &rank.FacetRequest{}
	for f := range rank.FacetCount {
		if w.IntN(4) > 0 {
			ask.Facets = append(ask.Facets, f)
		}
	}
	for range w.IntN(4) {
		from := time.UnixMicro(int64(w.IntN(2_000_000_000) - 1_000_000_000))
		ask.Ranges = append(ask.Ranges, []rank.Range{{From: from}, {Until: from}, {From: from, Until: from.Add(time.Duration(w.IntN(900)) * time.Second)}, {}}[w.IntN(4)])
	}
	for _, all := range []bool{true, false} {
		if ask.Passages = nil; !all {
			ask.Passages = append([]rank.Candidate{}, some...)
		}
		want := rank.NewFacetCounts(ask)
		seen := map[uuid.UUID]bool{}
		for _, k := range left {
			if e := k.entry; !seen[e.Document] && (all || chosen[k.passage.ID]) {
				seen[e.Document] = true
				countEntry(e, ask, want)
			}
		}
		got, err := v.Facets(t.Context(), ask)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Facets: %v\n%s", err, diff)
		}
	}
}

func countEntry(e *index.Entry, ask *rank.FacetRequest, want *rank.FacetCounts) {
	want.Documents++
	for facet, values := range valuesOf(e) {
		if want.Values[facet] == nil {
			continue
		}
		values = slices.Compact(slices.Sorted(slices.Values(values)))
		if len(values) == 0 {
			values = []string{""}
		}
		for _, v := range values {
			want.Values[facet][v]++
		}
	}
	if len(ask.Ranges) > 0 && e.Time.IsZero() {
		want.Undated++
	}
	for i, r := range ask.Ranges {
		if !e.Time.IsZero() && !e.Time.Before(r.From) && (r.Until.IsZero() || e.Time.Before(r.Until)) {
			want.Ranges[i]++
		}
	}
}

func compareTerms(t *testing.T, v *resident.View, left []*passage, some []rank.Candidate) {
	t.Helper()
	some = some[:min(len(some), 5)]
	got, err := v.Terms(t.Context(), some)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := v.Vectors(t.Context(), some)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range some {
		k := left[slices.IndexFunc(left, func(k *passage) bool { return k.passage.ID == c.Passage })]
		var want []rank.TermCount
		var terms []string
		for _, x := range k.terms {
			terms = append(terms, x.term)
		}
		slices.Sort(terms)
		for _, term := range slices.Compact(terms) {
			want = append(want, rank.TermCount{Term: term, Counts: k.counts([]string{term})})
		}
		if diff := gocmp.Diff(want, got[i], cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Terms: %s", diff)
		}
		if len(vectors[i]) != len(k.passage.Vector) || (vectors[i] == nil) != (k.passage.Vector == nil) {
			t.Fatalf("Vectors() has %d components, want %d", len(vectors[i]), len(k.passage.Vector))
		}
		for j, x := range vectors[i] {
			if math.Abs(float64(x-k.passage.Vector[j])) > rounding {
				t.Errorf("component %d is %v, want %v", j, x, k.passage.Vector[j])
			}
		}
	}
}
