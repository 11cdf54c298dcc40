package search_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

// BenchmarkTyping measures searches and completions of 100,000 passages while queries are
// typed, in both tiers.
func BenchmarkTyping(b *testing.B) {
	files := corpusFiles(b)
	f := newFixture(b)
	id := f.tenant()
	questions := f.fill(id, files, 100_000)
	f.exec("vacuum analyze passage_index")
	if err := index.BuildIndexes(b.Context(), f.owner, id.collection); err != nil {
		b.Fatal(err)
	}
	for f.engine.Resident().Passages == 0 { // stored until the collection is loaded
		f.search(id, search.Query{Text: "warm"})
	}
	random := rand.New(rand.NewPCG(1, 1))
	var typed []string
	for range 2000 {
		q := []rune(questions[random.IntN(len(questions))])
		typed = append(typed, string(q[:1+random.IntN(min(len(q), 25))]))
	}
	typed = slices.DeleteFunc(typed, func(q string) bool { return utf8.RuneCountInString(q) == 0 })
	stored := newEngine(b, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for _, tier := range []struct {
		name   string
		engine *search.Engine
	}{{"resident", f.engine}, {"stored", stored}} {
		for name, ask := range map[string]func(string) error{
			"search": func(q string) error {
				_, err := tier.engine.Search(b.Context(), id.scope, search.Query{Text: q, Limit: 10, MinScore: 0.5, AsYouType: true, Lenient: true, Highlight: true})
				return err
			},
			"complete": func(q string) error {
				_, err := tier.engine.Complete(b.Context(), id.scope, search.Query{Text: q, Limit: 8})
				return err
			},
		} {
			b.Run(tier.name+"/"+name, func(b *testing.B) {
				var took []time.Duration
				for i := 0; b.Loop(); i++ {
					start := time.Now()
					if err := ask(typed[i%len(typed)]); err != nil {
						b.Fatalf("%q: %v", typed[i%len(typed)], err)
					}
					took = append(took, time.Since(start))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
