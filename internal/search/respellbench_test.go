package search_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

// BenchmarkSpelling measures searches of 100,000 resident passages: questions whose words
// are all known, questions with one and with many misspelled words; and the stored tier.
func BenchmarkSpelling(b *testing.B) {
	files := corpusFiles(b)
	f := newFixture(b)
	id := f.tenant()
	questions := f.fill(id, files, 100_000)
	f.exec("vacuum analyze passage_index")
	for f.engine.Resident().Passages == 0 { // stored until the collection is loaded
		f.search(id, search.Query{Text: "warm"})
	}
	known := slices.DeleteFunc(slices.Clone(questions), func(q string) bool {
		return f.search(id, search.Query{Text: q}).DidYouMean != ""
	})
	if err := index.BuildIndexes(b.Context(), f.owner, id.collection); err != nil {
		b.Fatal(err)
	}
	resident := f.engine
	stored := newEngine(b, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for _, c := range []struct {
		name   string
		engine *search.Engine
		list   []string
	}{
		{"resident/known", resident, known},
		{"resident/one", resident, []string{"kuberntes cluster", "restore a bakup", "replicaton factor", "confguration of the gateway", "cluser membership"}},
		{"resident/many", resident, []string{strings.Repeat("kuberntes bakup replicaton confguration cluser membrship trasaction isolaton databse certifcate ", 6)}},
		{"stored/known", stored, []string{"kubernetes cluster", "restore a backup", "replication factor", "configuration of the gateway", "cluster membership"}},
		{"stored/one", stored, []string{"kuberntes cluster", "restore a bakup", "replicaton factor", "confguration of the gateway", "cluser membership"}},
	} {
		f.engine = c.engine
		list := c.list
		b.Run(c.name, func(b *testing.B) {
			var took []time.Duration
			corrected := 0
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				r := f.search(id, search.Query{Text: list[i%len(list)], Limit: 10, MinScore: 0.5})
				took = append(took, time.Since(start))
				corrected += len(r.Corrected)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(corrected)/float64(len(took)), "corrected")
			b.ReportMetric(0, "ns/op")
		})
	}
}
