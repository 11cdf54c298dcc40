package resident_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// letters returns a random word of a few letters, so that many words are near to each
// other.
func (w *world) letters() string {
	all := []rune(w.choose("abc", "abc", "aăáb", "абв"))
	var out []rune
	for range 2 + w.IntN(9) {
		out = append(out, all[w.IntN(len(all))])
	}
	return string(out)
}

func TestSimilarTermsEqualBruteForce(t *testing.T) {
	t.Parallel()
	w := newWorld(11, 10, 3)
	words := []string{"a1b2", "ab-cab"}
	for range 300 {
		words = append(words, w.letters())
	}
	x := resident.New(resident.Options{})
	o := &oracle{documents: map[uuid.UUID]*index.Entry{}}
	var at index.Position
	found := 0
	for range 12 {
		at.Change++
		var entries []*index.Entry
		for range 10 {
			e := w.entry(w.id())
			for i := range e.Passages {
				var list []occurrence
				for p := range 1 + w.IntN(12) {
					list = append(list, occurrence{words[w.IntN(len(words))], uint16(1024 + p)})
				}
				e.Passages[i].Lexemes = lexemesOf(list)
			}
			entries = append(entries, e)
			o.documents[e.Document] = e
		}
		for id := range o.documents { // some documents are deleted
			if w.IntN(4) == 0 && o.documents[id] != entries[0] {
				entries = append(entries, &index.Entry{Document: id})
				delete(o.documents, id)
			}
		}
		if err := x.Apply(at, entries); err != nil {
			t.Fatal(err)
		}
		for _, f := range []*rank.Filter{nil, {}, {Readers: []string{"ben"}}, in(rank.FacetSection, "guide"), {Phrases: []rank.Phrase{{{words[2]}}}}} {
			view := x.Snapshot().View(f)
			if f == nil {
				f = &rank.Filter{}
			}
			count := map[string]int{}
			o.each(func(k *passage) {
				if k.satisfies(f) {
					for term := range k.has {
						count[term]++
					}
				}
			})
			for range 8 {
				word, limit := w.letters(), 1+w.IntN(12)
				pattern, ok := spelling.NewPattern(word, []string{word, word[:len(word)/2*2]}, w.IntN(4) == 0)
				if !ok {
					continue
				}
				var want []rank.SimilarTerm
				for term, n := range count {
					if d, ok := pattern.Distance(term); ok {
						want = append(want, rank.SimilarTerm{Term: term, Distance: d, Frequency: n})
					}
				}
				slices.SortFunc(want, rank.CompareSimilar)
				want = want[:min(limit, len(want))]
				got, err := view.Similar(t.Context(), pattern, limit)
				if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
					t.Fatalf("Similar(%q) (-want +got): %v\n%s", word, err, diff)
				}
				found += len(got)
			}
			asked := append(slices.Clone(words[:40]), "nowhere")
			contains, err := view.Contains(t.Context(), asked)
			for i, term := range asked {
				if err != nil || contains[i] != (count[term] > 0) {
					t.Fatalf("Contains(%q) = %v, %v, in %d passages", term, contains, err, count[term])
				}
			}
		}
	}
	if found < 500 {
		t.Errorf("%d terms were similar", found)
	}
}
