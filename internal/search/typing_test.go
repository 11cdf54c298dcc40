package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

// wordsOf returns the words of the documents of a tenant that consist of letters.
func (f *fixture) wordsOf() []string {
	f.Helper()
	seen := make(map[string]bool)
	for _, text := range f.strings("select title || ' ' || body from passages p join documents d on d.id = p.document_id") {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
			seen[strings.ToLower(word)] = true
		}
	}
	words := make([]string, 0, len(seen))
	for word := range seen {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// begins reports whether a hit has a word that begins with a text.
func begins(h *search.Hit, typed string) bool {
	for _, word := range strings.FieldsFunc(strings.ToLower(h.Title+" "+strings.Join(h.Headings, " ")+" "+h.Text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if strings.HasPrefix(word, typed) {
			return true
		}
	}
	return false
}

func TestEveryBeginningOfAWordFindsPassagesWithIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	words := f.wordsOf()
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	a := analysis.New()
	stored := newEngine(t, f.db, a, f.models, search.Options{Memory: -1})
	for _, tier := range []struct {
		name   string
		engine *search.Engine
		words  int
	}{{"resident", f.engine, 120}, {"stored", stored, 12}} {
		searches, wrong := 0, 0
		for _, word := range words[:tier.words] {
			for n := 1; n <= utf8.RuneCountInString(word); n++ {
				typed := string([]rune(word)[:n])
				if w := a.Words(typed, ""); len(w) == 1 && w[0].Stop {
					continue // it is not indexed
				}
				searches++
				r, err := tier.engine.Search(t.Context(), id.scope, search.Query{Text: typed, Limit: 10, MinScore: 0.5, AsYouType: true, Lenient: true})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Hits) == 0 {
					t.Errorf("%s: %q, the beginning of %q, finds nothing (searched %v)", tier.name, typed, word, r.Words)
				} else if !slices.ContainsFunc(r.Hits, func(h search.Hit) bool { return begins(&h, typed) }) {
					wrong++
				}
			}
		}
		if wrong*50 > searches {
			t.Errorf("%s: %d of %d beginnings find no word that begins so", tier.name, wrong, searches)
		}
		t.Logf("%s: %d beginnings, %d with other words", tier.name, searches, wrong)
	}
}

func TestTheWordThatIsTypedIsFoundUnderFilters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	// More frequent words that begin alike are in hidden documents, and in another section.
	for i := range 40 {
		word := "sa" + strings.Repeat(string(rune('b'+i%20)), 2+i/20)
		f.add(id, fmt.Sprint("hidden", i), strings.Repeat("Of "+word+". ", 3), func(r *index.Record) { r.Readers = []string{"boss"} })
	}
	f.add(id, "open", "Salamanders hide.", func(r *index.Record) { r.Section = "zoo" })
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for _, typed := range []string{"s", "sa", "hide s", "the sal", "salamander", "hide the", "sala sala"} {
			r, err := engine.Search(viewerWith(t, []string{"me"}), id.scope, search.Query{Text: typed, Limit: 10, MinScore: 0.5, AsYouType: true, Lenient: true,
				Filters: search.Filters{Section: "zoo"}})
			if err != nil || len(r.Hits) != 1 {
				t.Errorf("%s: %q finds %+v, %v", name, typed, r, err)
			}
		}
		got, err := engine.Complete(viewerWith(t, []string{"me"}), id.scope, search.Query{Text: "Where sa", Limit: 20})
		if err != nil || !slices.Equal(got.Completions, []string{"Where Salamanders"}) {
			t.Errorf("%s: Complete() = %q, %v; hidden documents have the other words", name, got.Completions, err)
		}
		if got, err = engine.Complete(viewerWith(t, nil), id.scope, search.Query{Text: "sabb", Limit: 20}); err != nil || len(got.Completions) != 1 {
			t.Errorf("%s: Complete() for everything = %q, %v", name, got.Completions, err)
		}
	}
}

func TestCompletionsAreWordsOfThePassages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a", "# Backups\n\nInstallation of the operator: installing takes a minute. Restore it by a dry-run.", func(r *index.Record) { r.Title = "Backups" })
	f.add(id, "b", "# Größe\n\nThe installation again. The größte Rolle.", nil)
	for typed, want := range map[string][]string{
		"inst":      {"installation", "installing"},
		"of Insta":  {"of installation", "of installing"},
		"groß":      {"Größe", "größte"},
		"dry-r":     {"dry-run"},
		"install ":  {},
		"zebra":     {},
		"-inst":     {},
		"\"the ope": {"\"the operator"},
		"operator":  {},
	} {
		got, err := f.engine.Complete(t.Context(), id.scope, search.Query{Text: typed, Limit: 5})
		if err != nil || !slices.Equal(got.Completions, want) {
			t.Errorf("Complete(%q) = %q, %v, want %q", typed, got.Completions, err, want)
		}
	}
	for _, odd := range []string{
		strings.Repeat("a-b ", 400) + "a-inst", strings.Repeat("a.", 600) + "inst", strings.Repeat("x", 2000), strings.Repeat("é", 1000), "inst\u0301", "日本語", "C++", "👩‍👩‍👧 inst",
	} {
		if _, err := f.engine.Complete(t.Context(), id.scope, search.Query{Text: odd, Limit: 5}); err != nil {
			t.Errorf("Complete(%.20q…): %v", odd, err)
		}
	}
	got, err := f.engine.Complete(t.Context(), id.scope, search.Query{Text: "inst", Limit: 1})
	if err != nil || len(got.Completions) != 1 {
		t.Errorf("Complete with limit 1 = %+v, %v", got, err)
	}
	if got, err = f.engine.Complete(t.Context(), id.scope, search.Query{Text: "backu", Limit: 1}); err != nil || len(got.Titles) != 1 || got.Titles[0].URL != "https://docs.example/a" {
		t.Errorf("Complete() = %+v, %v, want the title with its address", got, err)
	}
	for field, q := range map[string]search.Query{"limit": {Text: "x", Limit: 21}, "q": {Text: " ", Limit: 1}} {
		if _, err := f.engine.Complete(t.Context(), id.scope, q); apierr.From(err).Field != field {
			t.Errorf("Complete(%+v): error %v, want one of %s", q, err, field)
		}
	}
}

func TestDistinctResultsAreTheBestOfTheirGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	products := map[uuid.UUID]string{}
	for i := range 24 {
		var text strings.Builder
		for j := range 5 {
			fmt.Fprintf(&text, "## Part %d of page %d\n\n%s. %s\n\n", j, i, strings.Repeat("An otter swims. ", 1+(i+j)%5), strings.Repeat("Some other text of the page. ", 20))
		}
		product := [...]string{"", "one", "two"}[i%3]
		document := f.add(id, fmt.Sprint("page", i), text.String(), func(r *index.Record) {
			r.Section = [...]string{"a", "b", "c", "d"}[i%4]
			if product != "" {
				r.Metadata = map[string]any{"product name": product, "n": i % 2}
			}
		})
		products[document] = product
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		all := func(q search.Query) (hits []search.Hit) {
			q.Text, q.Limit = "otter swims", 7
			for {
				q.Offset = len(hits)
				r, err := engine.Search(t.Context(), id.scope, q)
				if err != nil {
					t.Fatal(err)
				}
				if left := r.Total - len(hits); len(r.Hits) != min(left, 7) {
					t.Fatalf("%s: distinct %q: a page of %d results, %d are left", name, q.Distinct, len(r.Hits), left)
				}
				if hits = append(hits, r.Hits...); len(hits) >= r.Total {
					return hits
				}
			}
		}
		for distinct, value := range map[string]func(*search.Hit) string{
			"document":              func(h *search.Hit) string { return h.Document.String() },
			"section":               func(h *search.Hit) string { return h.Section },
			"collection":            func(h *search.Hit) string { return h.Collection.String() },
			"source":                func(h *search.Hit) string { return h.Source },
			"version":               func(h *search.Hit) string { return h.Document.String() }, // none has one
			"metadata.product name": func(h *search.Hit) string { return or(products[h.Document], h.Document.String()) },
			"metadata.n'; --":       func(h *search.Hit) string { return h.Document.String() },
		} {
			for _, least := range []float64{0, 0.3} {
				var want []uuid.UUID
				seen := map[string]bool{}
				for _, h := range all(search.Query{MinScore: least}) {
					if v := value(&h); !seen[v] {
						seen[v] = true
						want = append(want, h.Passage)
					}
				}
				var got []uuid.UUID
				for _, h := range all(search.Query{MinScore: least, Distinct: distinct}) {
					got = append(got, h.Passage)
				}
				if len(want) == 0 || !slices.Equal(got, want) {
					t.Errorf("%s: distinct %q at %v: %d results, want %d:\n%v\n%v", name, distinct, least, len(got), len(want), got, want)
				}
			}
		}
	}
	for _, wrong := range []string{"path", "metadata.", "metadata", "document ", "metadata." + strings.Repeat("x", 101), "metadata.a\x00"} {
		if _, err := f.engine.Search(context.Background(), id.scope, search.Query{Text: "x", Limit: 1, Distinct: wrong}); apierr.From(err).Field != "distinct" {
			t.Errorf("distinct %q: error %v", wrong, err)
		}
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
