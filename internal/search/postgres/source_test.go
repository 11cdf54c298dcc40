package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// vocabulary returns words that the analyzer does not change.
func vocabulary() []string { return names("w", 60) }

// crowd stores documents of random words with random fields, deletes some of them, and
// stores another collection of the same words.
func (f *fixture) crowd(random *rand.Rand, documents int) tenant {
	f.Helper()
	id := f.tenant()
	other := f.another(id)
	pick := func(from []string) string {
		return from[min(int(random.ExpFloat64()*float64(len(from))/4), len(from)-1)]
	}
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(pick(vocabulary()) + " ")
		}
		return b.String()
	}
	var deleted []uuid.UUID
	for d := range documents {
		var texts []string
		for range 1 + random.IntN(5) {
			texts = append(texts, text(1+random.IntN(60)))
		}
		r := id.record(random, fmt.Sprint(d), text(1+random.IntN(4)), texts...)
		for i := range r.Passages {
			for range random.IntN(3) {
				r.Passages[i].Headings = append(r.Passages[i].Headings, text(1+random.IntN(3)))
			}
		}
		r.Section, r.Version = pick([]string{"", "guide", "reference"}), pick([]string{"", "v1", "v2"})
		r.Language, r.DocType = pick([]string{"en", "de", ""}), pick([]string{"page", "table", ""})
		for _, tag := range []string{"red", "green", "it's \\ \"blue\""} {
			if random.IntN(3) == 0 {
				r.Tags = append(r.Tags, tag)
			}
		}
		if random.IntN(4) > 0 {
			r.UpdatedAt = time.Date(2020, 1, 1+random.IntN(300), 0, 0, 0, random.IntN(2)*500_000_000, time.UTC)
		}
		document := f.put(id, r)
		if random.IntN(2) == 0 {
			readers := []string{}
			for _, p := range []string{"ann", "bob"} {
				if random.IntN(2) == 0 {
					readers = append(readers, p)
				}
			}
			f.exec("update documents set readers = $2 where id = $1", document, readers)
		}
		if random.IntN(4) == 0 {
			f.exec("update documents set restricted_to = $2, restricted = true where id = $1", document, []string{[]string{"ann", "bob"}[random.IntN(2)]})
		}
		if random.IntN(8) == 0 {
			deleted = append(deleted, document)
		}
		r = other.record(random, fmt.Sprint(d), "Other", text(20))
		f.put(other, r)
	}
	if _, err := f.index.SoftDelete(f.Context(), id.scope, index.Fence{}, deleted); err != nil {
		f.Fatal(err)
	}
	return id
}

// in returns the filter for values of one facet.
func in(facet rank.Facet, values ...string) *rank.Filter {
	f := &rank.Filter{}
	f.Values[facet] = values
	return f
}

// filters returns a filter of each kind, and one with all conditions.
func filters(o oracle) map[string]rank.Filter {
	some := []uuid.UUID{o[0].document, o[len(o)/2].document, uuid.New()}
	from, until := time.Date(2020, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2020, 8, 1, 0, 0, 0, 0, time.UTC)
	phrase := rank.Phrase{{"w00", "w01"}, {"w02", "w03"}}
	in := func(facet rank.Facet, values ...string) rank.Filter { return *in(facet, values...) }
	everything := in(rank.FacetLanguage, "en")
	everything.Values[rank.FacetTag], everything.Values[rank.FacetDocType] = []string{"red", "green"}, []string{"page"}
	everything.From, everything.Readers = from, []string{"bob", "ann"}
	everything.Phrases, everything.Excluded = []rank.Phrase{{{"w01"}}}, []rank.Phrase{{{"w04"}, {"w00"}}}
	return map[string]rank.Filter{
		"none":        {},
		"section":     in(rank.FacetSection, "guide"),
		"version":     in(rank.FacetVersion, "v2", "v9"),
		"language":    in(rank.FacetLanguage, "de"),
		"tags":        in(rank.FacetTag, "green", "it's \\ \"blue\""),
		"types":       in(rank.FacetDocType, "table", "page"),
		"documents":   {Documents: some},
		"from":        {From: from},
		"until":       {Until: until},
		"between":     {From: from, Until: until},
		"reader":      {Readers: []string{"ann"}},
		"nobody":      {Readers: []string{}},
		"phrase":      {Phrases: []rank.Phrase{phrase}},
		"two phrases": {Phrases: []rank.Phrase{{{"w05"}}, {{"w01"}, {"w00"}}}},
		"exclusion":   {Excluded: []rank.Phrase{{{"w00"}}, phrase}},
		"source":      in(rank.FacetSource, "file_upload", "it's"),
		"no source":   in(rank.FacetSource, "s3"),
		"connector":   in(rank.FacetConnector, o[0].connector),
		"unknown one": in(rank.FacetConnector, uuid.NewString()),
		"all":         everything,
		"nothing":     in(rank.FacetSection, "no' such \\section"),
	}
}

func requests(random *rand.Rand) []*rank.Request {
	var all []*rank.Request
	for range 4 {
		r := &rank.Request{AverageBody: 20, TopLexical: 5 + random.IntN(40), Vector: unit(random), TopSimilar: 5 + random.IntN(20)}
		for _, at := range random.Perm(len(vocabulary()))[:2+random.IntN(6)] {
			terms := []string{vocabulary()[at]}
			if random.IntN(3) == 0 {
				terms = append(terms, fmt.Sprintf("x%d", at), "it's\\")
			}
			r.Words = append(r.Words, rank.Word{Terms: terms, Weight: 0.1 + random.Float64()})
		}
		for i := range r.Words { // words share no term
			if len(r.Words[i].Terms) > 1 {
				r.Words[i].Terms[2] = fmt.Sprint("it's\\", i)
			}
		}
		r.MatchWords = random.IntN(len(r.Words) + 1)
		all = append(all, r)
	}
	all[1].Vector, all[1].TopSimilar = nil, 0
	all[2].Words, all[2].TopLexical, all[2].MatchWords = nil, 0, 0
	all[3].Vector, all[3].TopSimilar = []float32{1, 0, 0}, 10 // of another length
	return all
}

// TestAnswersEqualBruteForce compares the tier with a scan of every passage: once where
// the tier may scan, and once where it must look up words and vectors.
func TestAnswersEqualBruteForce(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]postgres.Options{"scan": {FullScan: 1 << 20, LookupBudget: 1 << 20}, "lookup": {FullScan: 1, LookupBudget: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, opt)
			random := rand.New(rand.NewPCG(1, 2))
			id := f.crowd(random, 150)
			everything := f.oracle(id)
			for kind, filter := range filters(everything) {
				selected := everything.selected(&filter)
				if (len(selected) == 0) != slices.Contains([]string{"nothing", "no source", "unknown one"}, kind) {
					t.Errorf("the filter %q selects %d passages, which tests nothing", kind, len(selected))
				}
				for n, r := range requests(random) {
					s := f.open(id, &filter)
					first := f.candidates(s, r)
					compare(t, fmt.Sprintf("%s, request %d", kind, n), selected, r, first)
					// The second request has other words and another vector, and rescores the
					// first answer.
					more := *r
					more.Words = append(slices.Clone(r.Words), words(names("v", 1)...)...)
					if n != 2 {
						more.Words[0].Weight *= 2
						more.MatchWords = len(r.Words)
					}
					more.Vector, more.TopSimilar, more.Rescore = unit(random), 0, first
					second := f.candidates(s, &more)
					compare(t, fmt.Sprintf("%s, request %d, rescored", kind, n), selected, &more, second)
					s.Close(t.Context())
				}
			}
		})
	}
}

// compare checks an answer against the passages that the filter selects.
func compare(t *testing.T, name string, selected oracle, r *rank.Request, candidates []rank.Candidate) {
	t.Helper()
	byID := make(map[uuid.UUID]*entry, len(selected))
	for _, e := range selected {
		byID[e.passage] = e
	}
	required := make(map[uuid.UUID]string)
	allowed := make(map[uuid.UUID]bool)
	if r.TopLexical > 0 && len(r.Words) > 0 {
		least, over := selected.best(r.TopLexical, func(e *entry) float64 { return e.lexical(r) })
		for _, e := range selected {
			if s := e.lexical(r); s > 0 && s >= least-tolerance {
				allowed[e.passage] = true
				if over[e.passage] {
					required[e.passage] = "one of the best by words"
				}
			}
		}
	}
	if r.TopSimilar > 0 && r.Vector != nil {
		least, over := selected.best(r.TopSimilar, func(e *entry) float64 { return e.similarity(r.Vector) })
		for _, e := range selected {
			if s := e.similarity(r.Vector); !math.IsNaN(s) && s >= least-tolerance {
				allowed[e.passage] = true
				if over[e.passage] {
					required[e.passage] = "one of the most similar"
				}
			}
		}
	}
	for _, c := range r.Rescore {
		allowed[c.Passage] = true
		required[c.Passage] = "one to rescore"
	}
	if len(candidates) > r.TopLexical+r.TopSimilar+len(r.Rescore) {
		t.Errorf("%s: %d candidates for at most %d+%d+%d", name, len(candidates), r.TopLexical, r.TopSimilar, len(r.Rescore))
	}
	seen := make(map[uuid.UUID]bool)
	for _, c := range candidates {
		e := byID[c.Passage]
		switch {
		case e == nil:
			t.Errorf("%s: the filter does not select passage %s", name, c.Passage)
			continue
		case seen[c.Passage]:
			t.Errorf("%s: passage %s is a candidate twice", name, c.Passage)
		case !allowed[c.Passage]:
			t.Errorf("%s: passage %s must not be a candidate", name, c.Passage)
		}
		seen[c.Passage] = true
		want := rank.Candidate{
			Passage: e.passage, Document: e.document, Ordinal: e.ordinal, FieldWords: e.words, Lexical: c.Lexical,
			Similarity: c.Similarity, Matches: e.matches(r), Ref: c.Ref,
		}
		if !e.time.IsZero() {
			want.Time = e.time.Unix()
		}
		if diff := cmp.Diff(want, c, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }),
			cmp.Comparer(func(a, b []rank.Match) bool { return slices.Equal(a, b) })); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if got := e.lexical(r); math.Abs(got-c.Lexical) > 1e-9 {
			t.Errorf("%s: Lexical of passage %s = %f, want %f", name, c.Passage, c.Lexical, got)
		}
		if got := e.similarity(r.Vector); math.Abs(got-c.Similarity) > tolerance || math.IsNaN(got) != math.IsNaN(c.Similarity) {
			t.Errorf("%s: Similarity of passage %s = %f, want %f", name, c.Passage, c.Similarity, got)
		}
	}
	for id, reason := range required {
		if !seen[id] {
			t.Errorf("%s: passage %s is missing: it is %s", name, id, reason)
		}
	}
}
