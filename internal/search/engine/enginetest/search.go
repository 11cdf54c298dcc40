package enginetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
)

// testOrder compares passages of which one must be better, in a class of one shard, whose
// frequencies are those of the class.
func testOrder(t *testing.T, s *suite) {
	class := s.class(1, 0)
	filler := func(n int) []string { return slices.Repeat([]string{"filler"}, n) }
	short, long := object(1, append(filler(20), "length")...), object(1, append(filler(400), "length")...)
	often, once := object(1, append(filler(20), "times", "times", "times")...), object(1, append(filler(22), "times")...)
	title, body := object(1, filler(20)...), object(1, append(filler(20), "place")...)
	title.Fields[index.FieldTitle] = []string{"place"}
	rare, common := object(1, append(filler(20), "rare")...), object(1, append(filler(20), "common")...)
	objects := []engine.Object{short, long, often, once, title, body, rare, common}
	for range 60 {
		objects = append(objects, object(1, append(filler(20), "common")...))
	}
	s.put(class, objects...)
	for _, pair := range []struct {
		better, worse engine.Object
		terms         []string
	}{
		{short, long, []string{"length"}},
		{often, once, []string{"times"}},
		{title, body, []string{"place"}},
		{rare, common, []string{"common", "rare"}},
	} {
		found := s.words(class, pair.terms...)
		if found == nil || found[0] != pair.better.Passage {
			t.Errorf("%q: the better passage is at %d, the other at %d", pair.terms,
				slices.Index(found, pair.better.Passage), slices.Index(found, pair.worse.Passage))
		}
	}
}

func testNearest(t *testing.T, s *suite) {
	class := s.class(0, dimensions)
	random := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // the same in every run
	target := make([]float32, dimensions)
	target[0] = 1
	var objects []engine.Object
	for i := range 12 { // at angles that are far enough apart for every quantization
		o := object(1, "word")
		angle := float64(i) * math.Pi / 12
		o.Vector = make([]float32, dimensions)
		o.Vector[0], o.Vector[1+i%(dimensions-1)] = float32(math.Cos(angle)), float32(math.Sin(angle))
		objects = append(objects, o)
	}
	without := object(1, "word")
	shuffled := append(slices.Clone(objects), without)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	s.put(class, shuffled...)
	if got := s.search(class, &engine.Query{Vector: target, Limit: 20}, objects...); !slices.Equal(got, passages(objects)) {
		t.Errorf("found %v, want the 12 with vectors by rising angle %v", got, passages(objects))
	}
	if got := s.search(class, &engine.Query{Vector: target, Limit: 5}); !slices.Equal(got, passages(objects[:5])) {
		t.Errorf("found %v, want the nearest 5: %v", got, passages(objects[:5]))
	}
}

func testVectors(t *testing.T, s *suite) {
	class, none := s.class(1, dimensions), s.class(1, 0)
	good, without := object(1, "word"), object(1, "word")
	good.Vector = append(make([]float32, dimensions-1), 1)
	s.put(class, good)
	nan, infinite := slices.Clone(good.Vector), slices.Clone(good.Vector)
	nan[0], infinite[0] = float32(math.NaN()), float32(math.Inf(1))
	for name, vector := range map[string][]float32{"short": good.Vector[1:], "empty": {}, "NaN": nan, "infinite": infinite} {
		o := object(1, "word")
		o.Vector = vector
		s.refused(s.backend.Put(t.Context(), class, []engine.Object{o, without}), o)
		s.same(s.words(class, "word"), []uuid.UUID{good.Passage, without.Passage}) // which is no reason to refuse others
		if _, err := s.backend.Search(t.Context(), class, &engine.Query{Vector: vector, Limit: 1}); err == nil {
			t.Errorf("%s: the vector was searched", name)
		}
	}
	s.refused(s.backend.Put(t.Context(), none, []engine.Object{good}), good)
	if _, err := s.backend.Search(t.Context(), none, &engine.Query{Vector: good.Vector, Limit: 1}); err == nil {
		t.Error("a class without dimensions was searched by a vector")
	}
	s.same(s.search(class, &engine.Query{Vector: good.Vector, Limit: 10}), []uuid.UUID{good.Passage})
}

// refused fails unless an error of Put is the refusal of an object.
func (s *suite) refused(err error, o engine.Object) {
	s.Helper()
	var e *engine.RefusedError
	if !errors.As(err, &e) || len(e.Reasons) != 1 || e.Reasons[o.Passage] == "" || errors.Is(err, engine.ErrUnavailable) {
		s.Errorf("the error is %v, want the refusal of passage %s", err, o.Passage)
	}
}

func testLimit(t *testing.T, s *suite) {
	class := s.class(0, dimensions)
	random := rand.New(rand.NewPCG(4, 4)) //nolint:gosec // the same in every run
	var objects []engine.Object
	for range 40 {
		o := object(1, "word")
		o.Vector = unit(random, dimensions)
		objects = append(objects, o)
	}
	s.put(class, objects...)
	for limit, want := range map[int]int{-1: 0, 0: 0, 1: 1, 39: 39, 40: 40, 1000: 40, math.MaxInt32: 40, math.MaxInt: 40} {
		for name, q := range map[string]*engine.Query{"words": {Terms: []string{"word"}, Limit: limit}, "vector": {Vector: objects[0].Vector, Limit: limit}} {
			got := s.search(class, q)
			if distinct := slices.Compact(sorted(got)); len(got) != want || len(distinct) != want {
				t.Errorf("%s: the limit %d finds %d passages, %d of them distinct, want %d", name, limit, len(got), len(distinct), want)
			}
		}
	}
}

func testNoClass(t *testing.T, s *suite) {
	class := s.prefix + "absent"
	id := []uuid.UUID{uuid.New()}
	vector := append(make([]float32, dimensions-1), 1)
	missing := func() error { _, err := s.backend.Missing(t.Context(), class, id, 0); return err }
	search := func(q engine.Query) error { _, err := s.backend.Search(t.Context(), class, &q); return err }
	for name, err := range map[string]error{
		"Put":       s.backend.Put(t.Context(), class, []engine.Object{object(1, "word")}),
		"Delete":    s.backend.Delete(t.Context(), class, id, 1),
		"Missing":   missing(),
		"by words":  search(engine.Query{Terms: []string{"word"}, Limit: 1}),
		"by vector": search(engine.Query{Vector: vector, Limit: 1}),
	} {
		if !errors.Is(err, engine.ErrNoClass) || errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: the error is %v, want ErrNoClass", name, err)
		}
	}
	names, err := s.backend.Classes(t.Context(), s.prefix)
	if err != nil || len(names) > 0 {
		t.Errorf("there are the classes %q (%v), want none", names, err)
	}
}

// hostileTerms are terms that an engine could change, split, or take for something else.
var hostileTerms = []string{
	"a", "A", "é", "É", "e\u0301", "ﬁ", "straße", "STRASSE", "strasse", "İ", "i", "ı", "µ", "μ",
	"with space", "with", " lead", "trail ", "tab\there", "line\nbreak", "line\r\nbreak", "nbsp\u00a0here", "em\u2003space", "\u3000", "\u2028", "\u0085", "\v", "\f", "\x1c", "\x00", "\x7f", "\u200b", "\ufeff",
	"%", "%20", "%%", "+", "*", "?", "a*", "a?", "c++", "c#", "a-b", "a_b", "_", "-", "--", "'", `"`, `\`, "`", "~", "^", "title^3", "(", ")", "[", "]", "{", "}", "<b>", "&", "&&", "|", "||", "!", "=", "==", ":", "a:b", ";", ",", ".", "...", "/", "//", "@", "$", "$1", "${x}", "#", "#12",
	"and", "AND", "or", "OR", "not", "NOT", "the", "The", "null", "true", "0", "00", "1.0", "-1", "1e5",
	"日本", "日本語", "本", "ไทย", "عربي", "👩‍👩‍👧", "👩", "🇩🇪", "\U0010ffff", "\ufffd", "\xff", "\xc3", "ab\xf0\x9f", "x'; drop table y; --", "{{.}}", "\\u0041",
}

func testHostileTerms(t *testing.T, s *suite) {
	class := s.class(0, 0)
	terms := append(slices.Clone(hostileTerms), strings.Repeat("x", 2046), strings.Repeat("x", 2045), strings.Repeat("日", 682), strings.Repeat(" ", 600))
	objects := make([]engine.Object, len(terms))
	for i, term := range terms {
		objects[i] = object(1)
		objects[i].Fields[i%int(index.FieldCount)] = []string{term, "all", term}
	}
	s.put(class, objects...)
	for i, term := range terms {
		if got := s.words(class, term); !slices.Equal(got, []uuid.UUID{objects[i].Passage}) {
			t.Errorf("%.30q finds %d passages, want its own alone", term, len(got))
		}
	}
	s.same(s.search(class, &engine.Query{Terms: terms, Limit: 1000}), passages(objects))
	s.same(s.search(class, &engine.Query{Terms: []string{"all"}, Limit: 1000}), passages(objects))
}

func testEmpty(t *testing.T, s *suite) {
	class := s.class(0, dimensions)
	s.put(class)
	empty, blank := object(0), object(1, "", "word", "")
	s.put(class, empty)
	s.put(class, blank)
	s.missing(class, []uuid.UUID{empty.Passage, blank.Passage}, 0)
	s.same(s.words(class), nil)
	s.same(s.words(class, ""), nil)
	s.same(s.words(class, "", "word"), []uuid.UUID{blank.Passage})
	s.same(s.search(class, &engine.Query{Limit: 10}), nil)
	s.same(s.search(class, &engine.Query{Vector: append(make([]float32, dimensions-1), 1), Limit: 10}), nil)
	if err := s.backend.Delete(t.Context(), class, nil, 1); err != nil {
		t.Errorf("delete no documents: %v", err)
	}
}

func testLarge(t *testing.T, s *suite) {
	class := s.class(0, 0)
	huge := object(1)
	for i := range 30_000 {
		huge.Fields[index.FieldBody] = append(huge.Fields[index.FieldBody], fmt.Sprint("w", i))
	}
	body := slices.Repeat([]string{strings.Repeat("lorem", 30), strings.Repeat("ipsum", 30), "dolor"}, 30) // about 9 KB
	objects := []engine.Object{huge}
	for i := range 600 {
		objects = append(objects, object(1, append(body, fmt.Sprint("own", i))...))
	}
	s.put(class, objects...)
	s.missing(class, passages(objects), 1)
	s.same(s.words(class, "w0"), []uuid.UUID{huge.Passage})
	s.same(s.words(class, "w29999"), []uuid.UUID{huge.Passage})
	s.same(s.words(class, "own0"), []uuid.UUID{objects[1].Passage})
	s.same(s.words(class, "own599"), []uuid.UUID{objects[600].Passage})
	s.same(s.search(class, &engine.Query{Terms: []string{"dolor"}, Limit: 1000}), passages(objects[1:]))
}

func testContext(t *testing.T, s *suite) {
	class := s.class(1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	id := []uuid.UUID{uuid.New()}
	_, missing := s.backend.Missing(ctx, class, id, 0)
	_, search := s.backend.Search(ctx, class, &engine.Query{Terms: []string{"word"}, Limit: 1})
	_, classes := s.backend.Classes(ctx, "")
	_, nodes := s.backend.Nodes(ctx)
	for name, err := range map[string]error{
		"Create": s.backend.Create(ctx, engine.Class{Name: s.prefix + "x", Replicas: 1}), "Drop": s.backend.Drop(ctx, class), "Classes": classes, "Nodes": nodes,
		"Put": s.backend.Put(ctx, class, []engine.Object{object(1, "word")}), "Delete": s.backend.Delete(ctx, class, id, 1), "Missing": missing, "Search": search,
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the error is %v, want that of the context", name, err)
		}
	}
	s.same(s.words(class, "word"), nil)
}

func testConcurrency(t *testing.T, s *suite) {
	class := s.class(0, dimensions)
	random := rand.New(rand.NewPCG(5, 5)) //nolint:gosec // the same in every run
	objects := make([]engine.Object, 200)
	for i := range objects {
		objects[i] = object(1, "word", fmt.Sprint("own", i))
		objects[i].Vector = unit(random, dimensions)
	}
	var wg sync.WaitGroup
	for part := range slices.Chunk(objects, 50) {
		wg.Go(func() {
			for range 2 {
				if err := s.backend.Put(t.Context(), class, part); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for i := range 20 {
				q := &engine.Query{Terms: []string{"word"}, Limit: 10}
				if i%2 == 0 {
					q = &engine.Query{Vector: part[0].Vector, Limit: 10}
				}
				if _, err := s.backend.Search(t.Context(), class, q); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			if err := s.backend.Delete(t.Context(), class, []uuid.UUID{part[0].Document}, 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.missing(class, passages(objects), 1)
	s.same(s.search(class, &engine.Query{Terms: []string{"word"}, Limit: 1000}), passages(objects))
}
