package postgres_test

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
)

func TestCountsIncludeLivePassagesOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	id := f.crowd(rand.New(rand.NewPCG(3, 4)), 80)
	live := f.oracle(id).selected(&rank.Filter{})
	terms := append(vocabulary(), "nowhere", "it's \\ quoted")
	want := make([]int, len(terms))
	documents := make(map[uuid.UUID]bool)
	var words int64
	for _, e := range live {
		for i, term := range terms {
			if len(e.lexemes[term]) > 0 {
				want[i]++
			}
		}
		documents[e.document] = true
		words += int64(e.words[index.FieldBody])
	}
	// The counts are of the whole collection, whatever the filter.
	s := f.open(id, in(rank.FacetSection, "guide"))
	got, err := s.DocumentFrequencies(t.Context(), terms)
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("frequencies (-want +got): %v\n%s", err, diff)
	}
	n, err := s.Statistics(t.Context())
	if diff := gocmp.Diff(rank.Statistics{Documents: len(documents), Passages: len(live), BodyWords: words}, n); err != nil || diff != "" {
		t.Errorf("statistics (-want +got): %v\n%s", err, diff)
	}
}

func TestCompletionsAreTheCommonestWordsOfSelectedPassages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	id := f.crowd(rand.New(rand.NewPCG(5, 6)), 80)
	all := f.oracle(id)
	for name, filter := range filters(all) {
		s := f.open(id, &filter)
		for _, prefix := range []string{"w", "w0", "w01", "x", "it's", "#"} {
			count := make(map[string]int)
			for _, e := range all.selected(&filter) {
				for term, positions := range e.lexemes {
					if strings.HasPrefix(term, prefix) && len(positions) > 0 {
						count[term]++
					}
				}
			}
			want := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
				return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
			})
			want = want[:min(7, len(want))]
			got, err := s.Complete(t.Context(), prefix, 7)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: Complete(%q) = %q, %v, want %q", name, prefix, got, err, want)
			}
		}
		s.Close(t.Context())
	}
}

func TestFacetsCountSelectedDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	id := f.crowd(rand.New(rand.NewPCG(7, 8)), 80)
	all := f.oracle(id)
	at := func(month, day int) time.Time { return time.Date(2020, time.Month(month), day, 0, 0, 0, 0, time.UTC) }
	request := &rank.FacetRequest{
		Facets: []rank.Facet{rank.FacetTag, rank.FacetSection, rank.FacetVersion, rank.FacetLanguage, rank.FacetDocType, rank.FacetSource, rank.FacetConnector},
		Ranges: []rank.Range{{From: at(3, 1)}, {Until: at(4, 1)}, {From: at(2, 1), Until: at(8, 1)}, {From: at(8, 1), Until: at(2, 1)}, {}},
	}
	count := func(passages oracle) *rank.FacetCounts {
		want := rank.NewFacetCounts(request)
		seen := make(map[uuid.UUID]bool)
		for _, e := range passages {
			if seen[e.document] {
				continue
			}
			seen[e.document] = true
			want.Documents++
			for facet, values := range e.values() {
				values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
				if len(values) == 0 {
					values = []string{""}
				}
				for _, v := range values {
					want.Values[facet][v]++
				}
			}
			if e.time.IsZero() {
				want.Undated++
			}
			for i, r := range request.Ranges {
				if !e.time.IsZero() && !e.time.Before(r.From) && (r.Until.IsZero() || e.time.Before(r.Until)) {
					want.Ranges[i]++
				}
			}
		}
		return want
	}
	unfiltered := f.open(id, nil)
	for name, filter := range filters(all) {
		selected := all.selected(&filter)
		s := f.open(id, &filter)
		got, err := s.Facets(t.Context(), request)
		if diff := gocmp.Diff(count(selected), got); err != nil || diff != "" {
			t.Errorf("%s (-want +got): %v\n%s", name, err, diff)
		}
		other, err := unfiltered.With(t.Context(), &filter)
		if err != nil {
			t.Fatal(err)
		}
		got, err = other.Facets(t.Context(), request)
		if diff := gocmp.Diff(count(selected), got); err != nil || diff != "" {
			t.Errorf("%s, by With (-want +got): %v\n%s", name, err, diff)
		}
		candidates := f.candidates(s, &rank.Request{Words: words("w03", "w04"), TopLexical: 10})
		var passages oracle
		for _, c := range candidates {
			for _, e := range selected {
				if e.passage == c.Passage {
					passages = append(passages, e)
				}
			}
		}
		narrow := *request
		narrow.Passages = append([]rank.Candidate{}, candidates...)
		got, err = s.Facets(t.Context(), &narrow)
		if diff := gocmp.Diff(count(passages), got); err != nil || diff != "" {
			t.Errorf("%s, of %d passages (-want +got): %v\n%s", name, len(candidates), err, diff)
		}
		s.Close(t.Context())
	}
	few, err := unfiltered.Facets(t.Context(), &rank.FacetRequest{Facets: []rank.Facet{rank.FacetTag}})
	if err != nil || few.Values[rank.FacetSection] != nil || few.Undated != 0 || few.Values[rank.FacetTag]["red"] == 0 {
		t.Errorf("Facets of tags alone = %+v, %v", few, err)
	}
}

func TestTermsAndVectorsOfPassages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	id := f.crowd(rand.New(rand.NewPCG(9, 10)), 40)
	byID := make(map[uuid.UUID]*entry)
	for _, e := range f.oracle(id) {
		byID[e.passage] = e
	}
	s := f.open(id, nil)
	candidates := f.candidates(s, &rank.Request{Words: words("w01"), TopLexical: 6})
	candidates = append(candidates, candidates[0])
	terms, err := s.Terms(t.Context(), candidates)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := s.Vectors(t.Context(), candidates)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range candidates {
		e := byID[c.Passage]
		if !slices.Equal(vectors[i], e.vector) {
			t.Errorf("vector of passage %d = %v, want %v", i, vectors[i], e.vector)
		}
		got := make(map[string]rank.Counts)
		for _, term := range terms[i] {
			got[term.Term] = term.Counts
			// The score of one word with weight 1 is the saturation of its counts.
			r := &rank.Request{Words: []rank.Word{{Terms: []string{term.Term}, Weight: 1}}, AverageBody: 20}
			norm := rank.LengthNorm(e.words[index.FieldBody], r.AverageBody)
			if want := e.lexical(r); math.Abs(rank.Saturation(term.Counts, norm)-want) > 1e-9 {
				t.Errorf("counts of passage %d = %+v", i, term)
			}
		}
		if want := len(e.lexemes); len(got) != want {
			t.Errorf("passage %d has %d terms, want %d", i, len(got), want)
		}
	}
	if terms, err := s.Terms(t.Context(), nil); err != nil || len(terms) != 0 {
		t.Errorf("Terms of no passages = %v, %v", terms, err)
	}
}

func TestBackgroundIsTheDistributionOfSimilarities(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(11, 12))
	id := f.crowd(random, 60)
	live := f.oracle(id).selected(&rank.Filter{})
	if len(live) > 256 {
		t.Fatalf("%d passages are more than the sample size", len(live))
	}
	vector := unit(random)
	var sum, squares float64
	for _, e := range live {
		x := e.similarity(vector)
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(live))
	want := rank.Background{Mean: sum / n, StdDev: math.Sqrt(squares/n - sum/n*sum/n), SampleSize: len(live)}
	for range 2 { // the second time the sample is cached
		got, err := f.open(id, in(rank.FacetSection, "guide")).Background(t.Context(), vector)
		if err != nil || math.Abs(got.Mean-want.Mean) > tolerance || math.Abs(got.StdDev-want.StdDev) > tolerance || got.SampleSize != want.SampleSize {
			t.Errorf("Background() = %+v, %v, want %+v", got, err, want)
		}
	}
	if got, err := f.open(id, nil).Background(t.Context(), []float32{1, 0}); err != nil || got.SampleSize != 0 {
		t.Errorf("Background of another length = %+v, %v, want no sample", got, err)
	}
	f.put(id, id.record(random, "one more", "Title", "text"))
	if got, err := f.open(id, nil).Background(t.Context(), vector); err != nil || got.SampleSize != want.SampleSize+1 {
		t.Errorf("Background after another passage = %+v, %v, want a sample of %d", got, err, want.SampleSize+1)
	}
}

func TestASourceSeesOneSnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(13, 14))
	id := f.tenant()
	f.put(id, id.record(random, "a", "Otters", "otter"))
	s := f.open(id, nil)
	if _, err := s.Statistics(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.put(id, id.record(random, "b", "Otters", "otter"))
	f.put(id, id.record(random, "a", "Seals", "seal"))
	r := &rank.Request{Words: words("otter"), TopLexical: 10}
	if n := len(f.candidates(s, r)); n != 1 {
		t.Errorf("a source that was queried before the change finds %d passages, want 1", n)
	}
	if n := len(f.candidates(f.open(id, nil), r)); n != 1 {
		t.Errorf("a new source finds %d passages, want 1", n)
	}
	if n := len(f.candidates(f.open(id, nil), &rank.Request{Words: words("seal"), TopLexical: 10})); n != 1 {
		t.Errorf("a new source finds %d new passages, want 1", n)
	}
	s.Close(t.Context())
	s.Close(t.Context())
	canceled, cancel := context.WithCancel(t.Context())
	s = f.open(id, nil)
	f.candidates(s, r)
	cancel()
	if _, err := s.Terms(canceled, f.candidates(s, r)); err == nil {
		t.Error("Terms with a canceled context did not fail")
	}
	s.Close(canceled)
	if n := f.db.Pool.Stat().AcquiredConns(); n != 1 { // that of the second source, which the cleanup closes
		t.Logf("%d connections are acquired, want 1", n)
	}
}
