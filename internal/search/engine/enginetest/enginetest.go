package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
)

// dimensions are those of the vectors in most tests.
const dimensions = 8

// Run tests a backend. Each test calls open once and makes classes of its own, so that
// what open returns may be the same engine each time. The tests close what it returns.
func Run(t *testing.T, open func(t *testing.T) engine.Backend) {
	for name, test := range map[string]func(*testing.T, *suite){
		"ClassesAreCreatedListedAndDropped":            testClasses,
		"NamesThatNoClassCanHaveAreRefused":            testNames,
		"NodesAreNamedInOrder":                         testNodes,
		"PassagesAreFoundByTheirWords":                 testWords,
		"APassageReplacesItsEarlierForm":               testReplace,
		"OlderObjectsOfADocumentAreDeleted":            testDelete,
		"ManyDocumentsAreDeletedAtOnce":                testDeleteMany,
		"ObjectsThatAReplicaLacksAreMissing":           testMissing,
		"TheBestPassagesByWordsComeFirst":              testOrder,
		"TheNearestPassagesComeFirst":                  testNearest,
		"VectorsOfAnotherLengthAreRefused":             testVectors,
		"NoMoreThanTheLimitIsFound":                    testLimit,
		"ACallThatNamesNoClassFails":                   testNoClass,
		"EveryTermIsAWord":                             testHostileTerms,
		"NothingIsLittleAndFindsNothing":               testEmpty,
		"LargeObjectsAndManyAreStored":                 testLarge,
		"ACallEndsWithItsContext":                      testContext,
		"CallsRunAtTheSameTime":                        testConcurrency,
		"FiltersSelectWhatTheirCommentsSay":            testFilters,
		"RandomFiltersSelectTheSameAsAComparisonOfAll": testRandomFilters,
		"ManyDocumentsAndReadersCanBeListed":           testLongLists,
		"WhatAFilterRejectsTakesNoPlaceInAnAnswer":     testRejected,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Errorf("close the backend: %v", err)
				}
			})
			test(t, &suite{T: t, backend: b, prefix: "T" + strings.ReplaceAll(uuid.NewString(), "-", "") + "_"})
		})
	}
}

// suite is what one test uses.
type suite struct {
	*testing.T
	backend engine.Backend
	prefix  string
	classes int
}

// class creates a class that ends with the test.
func (s *suite) class(shards, dimensions int) string {
	s.Helper()
	nodes, err := s.backend.Nodes(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.classes++
	c := engine.Class{Name: fmt.Sprintf("%s%d", s.prefix, s.classes), Dimensions: dimensions, Shards: shards, Replicas: min(2, len(nodes))}
	s.create(c)
	return c.Name
}

func (s *suite) create(c engine.Class) {
	s.Helper()
	if err := s.backend.Create(s.Context(), c); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := s.backend.Drop(context.WithoutCancel(s.Context()), c.Name); err != nil {
			s.Errorf("drop the class: %v", err)
		}
	})
}

func (s *suite) put(class string, objects ...engine.Object) {
	s.Helper()
	if err := s.backend.Put(s.Context(), class, objects); err != nil {
		s.Fatal(err)
	}
}

// search returns the passages that a query finds. Each must come with its document.
func (s *suite) search(class string, q *engine.Query, objects ...engine.Object) []uuid.UUID {
	s.Helper()
	found, err := s.backend.Search(s.Context(), class, q)
	if err != nil {
		s.Fatal(err)
	}
	out := make([]uuid.UUID, len(found))
	for i, f := range found {
		out[i] = f.Passage
		at := slices.IndexFunc(objects, func(o engine.Object) bool { return o.Passage == f.Passage })
		if at >= 0 && objects[at].Document != f.Document {
			s.Errorf("passage %s is found with the document %s, want %s", f.Passage, f.Document, objects[at].Document)
		}
	}
	return out
}

func (s *suite) words(class string, terms ...string) []uuid.UUID {
	s.Helper()
	return s.search(class, &engine.Query{Terms: terms, Limit: 100})
}

// missing fails unless the passages that Missing reports are the wanted ones.
func (s *suite) missing(class string, passages []uuid.UUID, change int64, want ...uuid.UUID) {
	s.Helper()
	got, err := s.backend.Missing(s.Context(), class, passages, change)
	if err != nil {
		s.Fatal(err)
	}
	s.same(got, want)
}

// same fails unless the ids are the wanted ones in any order.
func (s *suite) same(got, want []uuid.UUID) {
	s.Helper()
	got, want = sorted(got), sorted(want)
	if !slices.Equal(got, want) {
		s.Errorf("got %d passages, want %d: %v, want %v", len(got), len(want), first(got), first(want))
	}
}

func sorted(ids []uuid.UUID) []uuid.UUID {
	return slices.SortedFunc(slices.Values(ids), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
}

func first(ids []uuid.UUID) []uuid.UUID { return ids[:min(len(ids), 10)] }

// object returns a passage of a document of its own with a body of terms.
func object(change int64, body ...string) engine.Object {
	o := engine.Object{Passage: uuid.New(), Document: uuid.New(), Change: change}
	o.Fields[index.FieldBody] = body
	return o
}

// unit returns a vector of unit length.
func unit(random *rand.Rand, length int) []float32 {
	out, sum := make([]float32, length), 0.0
	for i := range out {
		out[i] = float32(random.NormFloat64())
		sum += float64(out[i]) * float64(out[i])
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(sum))
	}
	return out
}

func passages(objects []engine.Object) []uuid.UUID {
	out := make([]uuid.UUID, len(objects))
	for i := range objects {
		out[i] = objects[i].Passage
	}
	return out
}

func testClasses(t *testing.T, s *suite) {
	list := func(prefix string) []string {
		t.Helper()
		names, err := s.backend.Classes(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(slices.Values(names))
	}
	if got := list(s.prefix); len(got) > 0 {
		t.Errorf("there are classes before one is created: %q", got)
	}
	a, b := s.class(1, 0), s.class(0, dimensions)
	if got := list(s.prefix); !slices.Equal(got, []string{a, b}) {
		t.Errorf("the classes are %q, want %q", got, []string{a, b})
	}
	if got := list(a); !slices.Equal(got, []string{a}) {
		t.Errorf("the classes with the prefix %s are %q", a, got)
	}
	if got := list(""); !slices.Contains(got, a) || !slices.Contains(got, b) {
		t.Errorf("without a prefix the classes are %q", got)
	}
	o := object(1, "kept")
	s.put(a, o)
	if err := s.backend.Create(t.Context(), engine.Class{Name: a, Dimensions: 3, Shards: 2, Replicas: 1}); err != nil {
		t.Errorf("create a class that exists: %v", err)
	}
	s.same(s.words(a, "kept"), []uuid.UUID{o.Passage})
	for range 2 {
		if err := s.backend.Drop(t.Context(), a); err != nil {
			t.Errorf("drop a class: %v", err)
		}
	}
	if got := list(s.prefix); !slices.Equal(got, []string{b}) {
		t.Errorf("after one was dropped the classes are %q, want %q", got, []string{b})
	}
	s.create(engine.Class{Name: a, Replicas: 1})
	if got := s.words(a, "kept"); len(got) > 0 {
		t.Errorf("a class made anew has %v of the one before", got)
	}
}

// badNames are names that no class can have.
var badNames = []string{"", "lower", "1A", "_A", "A-B", "A B", "A/../B", "../A", "A?x=1", "A#", "A%2f", "Ä", "A\n", "A{B}", "A" + strings.Repeat("a", 1<<16)}

func testNames(t *testing.T, s *suite) {
	class := s.class(1, 0)
	kept := object(1, "kept")
	s.put(class, kept)
	for _, name := range badNames {
		if err := s.backend.Create(t.Context(), engine.Class{Name: name, Replicas: 1}); err == nil {
			t.Errorf("a class %.20q was created", name)
		}
		if err := s.backend.Drop(t.Context(), name); err != nil {
			t.Errorf("drop %.20q, which does not exist: %v", name, err)
		}
		if _, err := s.backend.Search(t.Context(), name, &engine.Query{Terms: []string{"kept"}, Limit: 1}); !errors.Is(err, engine.ErrNoClass) {
			t.Errorf("search in %.20q: %v", name, err)
		}
	}
	for _, c := range []engine.Class{{Name: s.prefix + "x"}, {Name: s.prefix + "x", Replicas: -1}, {Name: s.prefix + "x", Replicas: 1, Dimensions: -1}, {Name: s.prefix + "x", Replicas: 1, Shards: -1}} {
		if err := s.backend.Create(t.Context(), c); err == nil {
			t.Errorf("the class %+v was created", c)
		}
	}
	s.same(s.words(class, "kept"), []uuid.UUID{kept.Passage})
}

func testNodes(t *testing.T, s *suite) {
	nodes, err := s.backend.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes) == 0 {
		t.Fatal("the engine has no nodes")
	}
	names := make([]string, len(nodes))
	for i, n := range nodes {
		if names[i] = n.Name; n.Name == "" || n.Version == "" || !n.Healthy {
			t.Errorf("the node %+v has no name, no version, or is not healthy", n)
		}
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); !slices.Equal(sorted, names) {
		t.Errorf("the nodes are %q, want each once and in order", names)
	}
}

func testWords(t *testing.T, s *suite) {
	class := s.class(0, 0)
	title, heading, path, body := object(1), object(1), object(1), object(1, "needle", "hay")
	title.Fields[index.FieldTitle] = []string{"needle"}
	heading.Fields[index.FieldHeading] = []string{"hay", "needle"}
	path.Fields[index.FieldPath] = []string{"hay", "hay", "needle"}
	other := object(1, "needles", "need", "le", "Needle", "hay")
	s.put(class, title, heading, path, body, other)
	want := []engine.Object{title, heading, path, body}
	s.same(s.search(class, &engine.Query{Terms: []string{"needle"}, Limit: 10}, want...), passages(want))
	s.same(s.words(class, "needles", "absent", "needles"), []uuid.UUID{other.Passage})
	s.same(s.words(class, "needle", "needles"), append(passages(want), other.Passage))
	if got := s.words(class, "absent"); len(got) > 0 {
		t.Errorf("a word that no passage has finds %v", got)
	}
}

func testReplace(t *testing.T, s *suite) {
	class := s.class(0, dimensions)
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same in every run
	o, before := object(1, "old", "both"), unit(random, dimensions)
	o.Vector, o.Readers = before, []string{"anna"}
	s.put(class, o)
	o.Change, o.Fields[index.FieldBody], o.Readers = 2, []string{"new", "both"}, nil
	o.Vector = nil
	s.put(class, o)
	s.put(class, o)
	want := []uuid.UUID{o.Passage}
	s.same(s.words(class, "old"), nil)
	s.same(s.words(class, "new"), want)
	s.same(s.words(class, "both"), want)
	s.same(s.search(class, &engine.Query{Vector: before, Limit: 10}), nil)
	s.missing(class, want, 2)
	s.missing(class, want, 3, want...)
	// The last form of a passage in one call counts.
	again := o
	again.Change, again.Fields[index.FieldBody] = 4, []string{"last"}
	s.put(class, o, again)
	s.missing(class, want, 4)
	s.same(s.words(class, "both"), nil)
	s.same(s.words(class, "last"), want)
}

func testDelete(t *testing.T, s *suite) {
	class := s.class(0, 0)
	old, current, other, absent := object(4, "word"), object(5, "word"), object(1, "word"), uuid.New()
	current.Document = old.Document
	s.put(class, old, current, other)
	remove := func(before int64, documents ...uuid.UUID) {
		t.Helper()
		for range 2 {
			if err := s.backend.Delete(t.Context(), class, documents, before); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := []uuid.UUID{old.Passage, current.Passage, other.Passage}
	remove(math.MaxInt64)
	remove(math.MaxInt64, absent)
	remove(4, old.Document)
	remove(math.MinInt64, old.Document, other.Document)
	s.same(s.words(class, "word"), all)
	remove(5, old.Document, old.Document, absent)
	s.same(s.words(class, "word"), all[1:])
	s.missing(class, all, 0, old.Passage)
	s.put(class, old)
	s.same(s.words(class, "word"), all)
	s.missing(class, all, 0)
	remove(math.MaxInt64, old.Document, other.Document)
	s.same(s.words(class, "word"), nil)
}

func testDeleteMany(t *testing.T, s *suite) {
	class := s.class(0, 0)
	var objects []engine.Object
	var documents []uuid.UUID
	for range 300 {
		document := uuid.New()
		documents = append(documents, document)
		for range 5 {
			o := object(1, "word")
			o.Document = document
			objects = append(objects, o)
		}
	}
	kept := object(1, "word")
	s.put(class, append(objects, kept)...)
	if err := s.backend.Delete(t.Context(), class, documents, 2); err != nil {
		t.Fatal(err)
	}
	s.same(s.words(class, "word"), []uuid.UUID{kept.Passage})
	s.missing(class, passages(objects), 0, passages(objects)...)
}

func testMissing(t *testing.T, s *suite) {
	class := s.class(0, dimensions)
	random := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // the same in every run
	objects := make([]engine.Object, 2500)
	for i := range objects {
		objects[i] = object(int64(i%3), "word")
		if i%2 == 0 {
			objects[i].Vector = unit(random, dimensions)
		}
	}
	s.missing(class, passages(objects), 0, passages(objects)...)
	s.put(class, objects...)
	var behind []uuid.UUID
	for i := range objects {
		if i%3 < 2 {
			behind = append(behind, objects[i].Passage)
		}
	}
	absent := uuid.New()
	s.missing(class, nil, 0)
	s.missing(class, passages(objects), 0)
	s.missing(class, passages(objects), 2, behind...)
	s.missing(class, append(passages(objects), absent, absent, objects[0].Passage), math.MinInt64, absent)
	s.missing(class, []uuid.UUID{absent}, math.MaxInt64, absent)
}
