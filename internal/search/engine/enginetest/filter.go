package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// selects reports whether a filter selects an object, but for phrases and exclusions.
func selects(f *rank.Filter, o *engine.Object) bool {
	if f == nil {
		return true
	}
	for facet, list := range f.Values {
		if len(list) > 0 && !intersect(list, o.Values[facet]) {
			return false
		}
	}
	return (len(f.Documents) == 0 || slices.Contains(f.Documents, o.Document)) &&
		(f.From.IsZero() || !o.Time.IsZero() && !o.Time.Before(f.From)) &&
		(f.Until.IsZero() || !o.Time.IsZero() && o.Time.Before(f.Until)) &&
		(f.Readers == nil || o.Readers == nil || intersect(f.Readers, o.Readers)) &&
		(f.Readers == nil || o.Restriction == nil || intersect(f.Readers, o.Restriction))
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// check fails unless a filter selects of the objects, all of which have the term "all" and
// a vector, what it should, whatever the query.
func (s *suite) check(name, class string, objects []engine.Object, f *rank.Filter) {
	s.Helper()
	var want []uuid.UUID
	for i := range objects {
		if selects(f, &objects[i]) {
			want = append(want, objects[i].Passage)
		}
	}
	for kind, q := range map[string]*engine.Query{
		"words":  {Terms: []string{"all"}, Limit: len(objects) + 1, Filter: f},
		"vector": {Vector: objects[0].Vector, Limit: len(objects) + 1, Filter: f},
	} {
		if got := s.search(class, q, objects...); !slices.Equal(sorted(got), sorted(want)) {
			s.Errorf("%s by %s: %d passages, want %d; filter %+v", name, kind, len(got), len(want), f)
		}
	}
}

var moment = time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC)

func filterObjects(random *rand.Rand) map[string]*engine.Object {
	out := map[string]*engine.Object{}
	add := func(name string, set func(o *engine.Object)) {
		o := object(1, "all", name)
		o.Vector = unit(random, dimensions)
		set(&o)
		out[name] = &o
	}
	add("plain", func(*engine.Object) {})
	add("valued", func(o *engine.Object) {
		for f := range rank.FacetCount {
			o.Values[f] = []string{fmt.Sprint("value", f)}
		}
		o.Time = moment
	})
	add("tagged", func(o *engine.Object) { o.Values[rank.FacetTag] = []string{"a", "b", "The", "a b", "Ä", "%"} })
	add("upper", func(o *engine.Object) { o.Values[rank.FacetSection] = []string{"API"} })
	add("lower", func(o *engine.Object) { o.Values[rank.FacetSection] = []string{"api"} })
	add("spaced", func(o *engine.Object) { o.Values[rank.FacetSection] = []string{" api "} })
	add("words", func(o *engine.Object) { o.Values[rank.FacetSection] = []string{"api reference"} })
	add("before", func(o *engine.Object) { o.Time = moment.Add(-time.Microsecond) })
	add("after", func(o *engine.Object) { o.Time = moment.Add(time.Microsecond) })
	add("epoch", func(o *engine.Object) { o.Time = time.Unix(0, 0) })
	add("ancient", func(o *engine.Object) { o.Time = time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC) })
	add("far", func(o *engine.Object) { o.Time = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) })
	add("zoned", func(o *engine.Object) { o.Time = moment.In(time.FixedZone("", 5*3600)) })
	add("nobody", func(o *engine.Object) { o.Readers = []string{} })
	add("anna", func(o *engine.Object) { o.Readers = []string{"anna"} })
	add("group", func(o *engine.Object) { o.Readers = []string{"ben", "group:1 2", "Anna"} })
	add("restricted", func(o *engine.Object) { o.Restriction = []string{"anna", "cleo"} })
	add("both", func(o *engine.Object) { o.Readers, o.Restriction = []string{"anna", "ben"}, []string{"anna", "cleo"} })
	add("apart", func(o *engine.Object) { o.Readers, o.Restriction = []string{"anna"}, []string{"ben"} })
	add("sealed", func(o *engine.Object) { o.Readers, o.Restriction = nil, []string{} })
	add("hostile", func(o *engine.Object) {
		o.Readers, o.Values[rank.FacetTag] = []string{"*", `"`, "", "a\nb", "\xff"}, []string{"*", `x" OR "1`, "a\nb"}
	})
	return out
}

func testFilters(t *testing.T, s *suite) {
	random := rand.New(rand.NewPCG(6, 6)) //nolint:gosec // the same in every run
	class := s.class(0, dimensions)
	named := filterObjects(random)
	var objects []engine.Object
	for _, o := range named {
		objects = append(objects, *o)
	}
	s.put(class, objects...)
	values := func(f rank.Facet, list ...string) *rank.Filter {
		out := &rank.Filter{}
		out.Values[f] = list
		return out
	}
	cases := map[string]*rank.Filter{
		"none": nil, "zero": {}, "empty lists": {Documents: []uuid.UUID{}, Phrases: []rank.Phrase{}, Excluded: []rank.Phrase{}},
		"empty list of values": values(rank.FacetTag), "only the empty value": values(rank.FacetSection, ""), "the empty value too": values(rank.FacetSection, "", "api"),
		"unknown value": values(rank.FacetVersion, "nope"), "case": values(rank.FacetSection, "API"), "space": values(rank.FacetSection, " api "),
		"tag": values(rank.FacetTag, "b"), "tag with a space": values(rank.FacetTag, "a b"), "stop word": values(rank.FacetTag, "The"), "tag in another case": values(rank.FacetTag, "the"),
		"tags": values(rank.FacetTag, "nope", "Ä", "%", "value6"), "wildcard": values(rank.FacetTag, "*"), "quotes": values(rank.FacetTag, `x" OR "1`),
		"wildcard that nobody has": values(rank.FacetSection, "*"), "line break": values(rank.FacetTag, "a\nb"),
		"document": {Documents: []uuid.UUID{named["anna"].Document}}, "unknown document": {Documents: []uuid.UUID{uuid.New()}},
		"documents": {Documents: []uuid.UUID{named["anna"].Document, uuid.New(), named["far"].Document, named["anna"].Document}},
		"from":      {From: moment}, "until": {Until: moment}, "moment": {From: moment, Until: moment.Add(time.Microsecond)}, "nothing between": {From: moment, Until: moment},
		"turned round": {From: moment, Until: moment.Add(-time.Hour)}, "from a nanosecond later": {From: moment.Add(1)}, "until a nanosecond later": {Until: moment.Add(1)},
		"from another zone": {From: moment.In(time.FixedZone("", -7*3600))}, "around the epoch": {From: time.Unix(-1, 0), Until: time.Unix(1, 0)},
		"from long ago": {From: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}, "until the end": {Until: time.Date(9999, 12, 31, 23, 59, 59, 1000, time.UTC)},
		"long ago": {Until: time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC)}, "far away": {From: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)},
		"no reader": {Readers: []string{}}, "anna": {Readers: []string{"anna"}}, "ben": {Readers: []string{"ben"}}, "anna and ben": {Readers: []string{"anna", "ben"}},
		"cleo": {Readers: []string{"cleo"}}, "another case": {Readers: []string{"ANNA"}}, "group": {Readers: []string{"nobody", "group:1 2"}}, "part of a group": {Readers: []string{"group:1"}},
		"hostile readers": {Readers: []string{"*"}}, "quoted reader": {Readers: []string{`"`}}, "empty reader": {Readers: []string{""}}, "reader of two lines": {Readers: []string{"a\nb"}}, "bytes": {Readers: []string{"\xff"}},
	}
	all := values(rank.FacetSection, "value0", "nope")
	for f := range rank.FacetCount {
		all.Values[f] = []string{fmt.Sprint("value", f), "nope"}
	}
	all.Documents, all.From, all.Until, all.Readers = []uuid.UUID{named["valued"].Document}, moment, moment.Add(time.Second), []string{"anna"}
	cases["everything at once"] = all
	for name, f := range cases {
		s.check(name, class, objects, f)
	}
	s.phrases(class, named)
}

// phrases checks what every backend must find for phrases and exclusions, whose positions it
// does not know: what they select, but perhaps more.
func (s *suite) phrases(class string, named map[string]*engine.Object) {
	s.Helper()
	for name, f := range map[string]*rank.Filter{
		"phrase": {Phrases: []rank.Phrase{{{"all"}, {"anna", "x"}}}}, "word": {Phrases: []rank.Phrase{{{"anna"}}, {{"all"}}}},
		"excluded": {Excluded: []rank.Phrase{{{"plain"}}, {{"far"}, {"anna"}}}}, "empty": {Phrases: []rank.Phrase{{}, {{}}, nil}, Excluded: []rank.Phrase{{}, {{}}, nil}},
		"both": {Phrases: []rank.Phrase{{{"anna"}}}, Excluded: []rank.Phrase{{{"absent"}}}},
	} {
		if got := s.search(class, &engine.Query{Terms: []string{"all"}, Limit: 100, Filter: f}); !slices.Contains(got, named["anna"].Passage) {
			s.Errorf("%s: the filter %+v lost a passage that it selects", name, f)
		}
	}
	// Nobody but anna reads it, with phrases too.
	f := &rank.Filter{Phrases: []rank.Phrase{{{"anna"}}}, Readers: []string{"ben"}}
	if got := s.search(class, &engine.Query{Terms: []string{"all"}, Limit: 100, Filter: f}); slices.Contains(got, named["anna"].Passage) {
		s.Errorf("with a phrase the filter let pass what ben may not read")
	}
}

func testRandomFilters(_ *testing.T, s *suite) {
	random := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // the same in every run
	class := s.class(0, dimensions)
	names := []string{"anna", "ben", "cleo", "dora", "Anna", ""}
	some := func(most int) []string {
		out := make([]string, random.IntN(most+1))
		for i := range out {
			out[i] = names[random.IntN(len(names))]
		}
		return out
	}
	perhaps := func(most int) []string {
		if random.IntN(2) == 0 {
			return nil
		}
		return some(most)
	}
	objects := make([]engine.Object, 300)
	for i := range objects {
		o := object(1, "all")
		o.Vector, o.Readers, o.Restriction = unit(random, dimensions), perhaps(3), perhaps(2)
		if i > 0 && random.IntN(3) == 0 {
			o.Document = objects[i-1].Document //nolint:gosec // i is above 0
		}
		for f := range rank.FacetCount {
			if list := nonEmpty(some(2)); f == rank.FacetTag || len(list) < 2 {
				o.Values[f] = list
			}
		}
		if random.IntN(4) > 0 {
			o.Time = time.Unix(int64(random.IntN(1000)), int64(random.IntN(1e6))*1000)
		}
		objects[i] = o
	}
	s.put(class, objects...)
	for i := range 100 {
		f := &rank.Filter{Readers: perhaps(3)}
		for range random.IntN(3) {
			f.Values[random.IntN(int(rank.FacetCount))] = some(3)
		}
		if random.IntN(4) == 0 {
			for range random.IntN(40) {
				f.Documents = append(f.Documents, objects[random.IntN(len(objects))].Document)
			}
		}
		if random.IntN(4) == 0 {
			f.From = time.Unix(int64(random.IntN(1000)), int64(random.IntN(1e9)))
		}
		if random.IntN(4) == 0 {
			f.Until = time.Unix(int64(random.IntN(1000)), int64(random.IntN(1e9)))
		}
		s.check(fmt.Sprint("filter ", i), class, objects, f)
	}
}

func nonEmpty(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func testLongLists(_ *testing.T, s *suite) {
	random := rand.New(rand.NewPCG(8, 8)) //nolint:gosec // the same in every run
	class := s.class(0, dimensions)
	objects := make([]engine.Object, 50)
	f := &rank.Filter{Readers: []string{}}
	for i := range objects {
		objects[i] = object(1, "all")
		objects[i].Vector = unit(random, dimensions)
		if i%2 == 0 {
			f.Documents = append(f.Documents, objects[i].Document)
		}
		objects[i].Readers = []string{fmt.Sprintf("group:%d", i*100)}
		for j := range 300 {
			objects[i].Readers = append(objects[i].Readers, fmt.Sprintf("other:%d:%d", i, j))
		}
	}
	for range 5000 {
		f.Documents = append(f.Documents, uuid.New())
	}
	for i := range 3000 {
		f.Readers = append(f.Readers, fmt.Sprintf("group:%d", i))
	}
	objects[0].Fields[index.FieldTitle] = []string{"title"}
	s.put(class, objects...)
	s.check("long lists", class, objects, f)
}

// testRejected has few passages that a filter selects, and many better ones that it rejects
// for one reason each.
func testRejected(t *testing.T, s *suite) {
	class := s.class(1, dimensions)
	near, far := append(make([]float32, dimensions-1), 1), append(make([]float32, dimensions-1), -1)
	better := func(tag string, readers, restriction []string, at time.Time) engine.Object {
		o := object(1, "all", "all", "all", "plain")
		o.Fields[index.FieldTitle], o.Vector = []string{"all"}, near
		o.Values[rank.FacetTag], o.Readers, o.Restriction, o.Time = []string{tag}, readers, restriction, at
		return o
	}
	anna, ben := []string{"group:x", "anna"}, []string{"group:x", "ben"}
	var objects []engine.Object
	for range 150 {
		objects = append(objects, better("other", anna, anna, moment), better("wanted", ben, anna, moment),
			better("wanted", anna, ben, moment), better("wanted", anna, anna, moment.Add(-time.Hour)))
	}
	var few []engine.Object
	for range 5 {
		o := object(1, append(slices.Repeat([]string{"filler"}, 50), "all")...)
		o.Vector, o.Values[rank.FacetTag], o.Readers, o.Restriction, o.Time = far, []string{"wanted"}, anna, anna, moment
		few = append(few, o)
	}
	s.put(class, append(objects, few...)...)
	filter := &rank.Filter{Readers: []string{"anna"}, From: moment}
	filter.Values[rank.FacetTag] = []string{"wanted"}
	documents := &rank.Filter{}
	for i := range few {
		documents.Documents = append(documents.Documents, few[i].Document)
	}
	for name, f := range map[string]*rank.Filter{
		"values, readers and time": filter, "documents": documents,
		"a word that is excluded": {Readers: []string{"anna"}, Excluded: []rank.Phrase{{{"plain"}}}},
	} {
		for kind, q := range map[string]*engine.Query{
			"words": {Terms: []string{"all"}, Limit: len(few), Filter: f}, "vector": {Vector: near, Limit: len(few), Filter: f},
		} {
			if got := s.search(class, q, few...); !slices.Equal(sorted(got), sorted(passages(few))) {
				t.Errorf("%s by %s: %d passages, want the %d that the filter selects", name, kind, len(got), len(few))
			}
		}
	}
}
