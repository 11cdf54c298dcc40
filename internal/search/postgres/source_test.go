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

// vocabulary has words that the analyzer leaves as they are.
func vocabulary() []string { return names("w", 60) }

// crowd stores documents of random words with random fields, some of which are
// deleted again, next to another collection of the same words.
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
	var gone []uuid.UUID
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
		if random.IntN(8) == 0 {
			gone = append(gone, document)
		}
		r = other.record(random, fmt.Sprint(d), "Other", text(20))
		f.put(other, r)
	}
	if _, err := f.index.SoftDelete(f.Context(), id.scope, index.Fence{}, gone); err != nil {
		f.Fatal(err)
	}
	return id
}

// in is the filter for values of one field.
func in(facet rank.Facet, values ...string) *rank.Filter {
	f := &rank.Filter{}
	f.Values[facet] = values
	return f
}

// filters are one of each kind, and all together.
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
		r := &rank.Request{AverageBody: 20, Best: 5 + random.IntN(40), Vector: unit(random), Nearest: 5 + random.IntN(20)}
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
		r.Report = random.IntN(len(r.Words) + 1)
		all = append(all, r)
	}
	all[1].Vector, all[1].Nearest = nil, 0
	all[2].Words, all[2].Best, all[2].Report = nil, 0, 0
	all[3].Vector, all[3].Nearest = []float32{1, 0, 0}, 10 // of another length
	return all
}

// TestAnswersAreThoseOfANaiveSearch compares the tier with looking at every
// passage, once where it may look at them one by one, and once where it must
// look words and vectors up.
func TestAnswersAreThoseOfANaiveSearch(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]postgres.Options{"whole": {Whole: 1 << 20, LookUps: 1 << 20}, "looked up": {Whole: 1, LookUps: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, opt)
			random := rand.New(rand.NewPCG(1, 2))
			id := f.crowd(random, 150)
			everything := f.oracle(id)
			for kind, filter := range filters(everything) {
				left := everything.left(&filter)
				if (len(left) == 0) != slices.Contains([]string{"nothing", "no source", "unknown one"}, kind) {
					t.Errorf("%s leaves %d passages, which tests nothing", kind, len(left))
				}
				for n, r := range requests(random) {
					s := f.open(id, &filter)
					first := f.candidates(s, r)
					compare(t, fmt.Sprintf("%s, request %d", kind, n), left, r, first)
					// A second request with more words, another vector and all of the first answer.
					more := *r
					more.Words = append(slices.Clone(r.Words), words(names("v", 1)...)...)
					if n != 2 {
						more.Words[0].Weight *= 2
						more.Report = len(r.Words)
					}
					more.Vector, more.Nearest, more.Also = unit(random), 0, first
					second := f.candidates(s, &more)
					compare(t, fmt.Sprintf("%s, request %d, again", kind, n), left, &more, second)
					s.Close(t.Context())
				}
			}
		})
	}
}

// compare checks an answer against the passages that the filter leaves.
func compare(t *testing.T, name string, left oracle, r *rank.Request, found []rank.Candidate) {
	t.Helper()
	byID := make(map[uuid.UUID]*entry, len(left))
	for _, e := range left {
		byID[e.passage] = e
	}
	wanted := make(map[uuid.UUID]string)
	allowed := make(map[uuid.UUID]bool)
	if r.Best > 0 && len(r.Words) > 0 {
		least, over := left.best(r.Best, func(e *entry) float64 { return e.lexical(r) })
		for _, e := range left {
			if s := e.lexical(r); s > 0 && s >= least-tolerance {
				allowed[e.passage] = true
				if over[e.passage] {
					wanted[e.passage] = "one of the best by words"
				}
			}
		}
	}
	if r.Nearest > 0 && r.Vector != nil {
		least, over := left.best(r.Nearest, func(e *entry) float64 { return e.similarity(r.Vector) })
		for _, e := range left {
			if s := e.similarity(r.Vector); !math.IsNaN(s) && s >= least-tolerance {
				allowed[e.passage] = true
				if over[e.passage] {
					wanted[e.passage] = "one of the most similar"
				}
			}
		}
	}
	for _, c := range r.Also {
		allowed[c.Passage] = true
		wanted[c.Passage] = "asked for"
	}
	if len(found) > r.Best+r.Nearest+len(r.Also) {
		t.Errorf("%s: %d candidates for at most %d+%d+%d", name, len(found), r.Best, r.Nearest, len(r.Also))
	}
	seen := make(map[uuid.UUID]bool)
	for _, c := range found {
		e := byID[c.Passage]
		switch {
		case e == nil:
			t.Errorf("%s: passage %s is not one that the filter leaves", name, c.Passage)
			continue
		case seen[c.Passage]:
			t.Errorf("%s: passage %s comes twice", name, c.Passage)
		case !allowed[c.Passage]:
			t.Errorf("%s: passage %s was not asked for", name, c.Passage)
		}
		seen[c.Passage] = true
		want := rank.Candidate{
			Passage: e.passage, Document: e.document, Ordinal: e.ordinal, Words: e.words, Lexical: c.Lexical,
			Similarity: c.Similarity, Hits: e.hits(r), Ref: c.Ref,
		}
		if !e.time.IsZero() {
			want.Time = e.time.Unix()
		}
		if diff := cmp.Diff(want, c, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }),
			cmp.Comparer(func(a, b []rank.Hit) bool { return slices.Equal(a, b) })); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if got := e.lexical(r); math.Abs(got-c.Lexical) > 1e-9 {
			t.Errorf("%s: the words of passage %s score %f, not %f", name, c.Passage, got, c.Lexical)
		}
		if got := e.similarity(r.Vector); math.Abs(got-c.Similarity) > tolerance || math.IsNaN(got) != math.IsNaN(c.Similarity) {
			t.Errorf("%s: passage %s has the similarity %f, not %f", name, c.Passage, got, c.Similarity)
		}
	}
	for id, why := range wanted {
		if !seen[id] {
			t.Errorf("%s: passage %s is missing, %s", name, id, why)
		}
	}
}
