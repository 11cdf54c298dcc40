package index_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

const corpus = "../../../shared/corpora/cockroachdb-docs/v25.4"

// BenchmarkPut stores real pages, parsed and embedded before, by some writers
// at a time, first as new documents and then again as changed ones.
func BenchmarkPut(b *testing.B) {
	names, err := filepath.Glob(corpus + "/*.md")
	if err != nil || len(names) == 0 {
		b.Skipf("the documentation corpus is not at %s, so there is nothing to measure with: %v", corpus, err)
	}
	pipeline := ingest.New(parse.New(parse.Options{}), embed.NewBuiltin(), ingest.Options{})
	var pages []*ingest.Result
	passages := 0
	for _, name := range names[:200] {
		content, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		result, err := pipeline.Process(b.Context(), parse.Input{Name: filepath.Base(name), Content: content})
		if err != nil {
			continue
		}
		pages = append(pages, result)
		passages += len(result.Passages)
	}
	for _, writers := range []int{1, 2, 4} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("writers=%d/changed=%v", writers, changed), func(b *testing.B) {
				f := newFixture(b)
				id := f.tenant()
				round := 0
				store := func() {
					round++
					jobs := make(chan *index.Record)
					var group sync.WaitGroup
					for range writers {
						group.Go(func() {
							for r := range jobs {
								if _, err := f.store.Put(b.Context(), id.scope, index.Fence{}, r); err != nil {
									b.Error(err)
								}
							}
						})
					}
					for i, page := range pages {
						r := id.record(fmt.Sprint(i))
						if !changed {
							r.SourceID = fmt.Sprintf("%d/%d", round, i)
						}
						r.Title, r.Text, r.Model = page.Document.Title, page.Text, embed.BuiltinModel
						r.Passages, r.Vectors = page.Passages, page.Vectors
						jobs <- r
					}
					close(jobs)
					group.Wait()
				}
				if changed {
					store()
				}
				for b.Loop() {
					store()
				}
				b.ReportMetric(float64(b.N*passages)/b.Elapsed().Seconds(), "chunks/s")
				b.ReportMetric(float64(b.N*len(pages))/b.Elapsed().Seconds(), "documents/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkPutNew stores new documents of a passage each for a job, by some writers at a
// time, each by itself and in groups.
func BenchmarkPutNew(b *testing.B) {
	const documents = 2000
	texts := make([]string, documents)
	for i := range texts {
		texts[i] = synth.Words(i, 60)
	}
	vectors, err := embed.NewBuiltin().Embed(b.Context(), texts, embed.Passage)
	if err != nil {
		b.Fatal(err)
	}
	for _, writers := range []int{1, 12} {
		for _, isNew := range []bool{false, true} {
			b.Run(fmt.Sprintf("writers=%d/groups=%v", writers, isNew), func(b *testing.B) {
				f := newFixture(b)
				id := f.tenant()
				fence := f.job(id)
				round := 0
				for b.Loop() {
					round++
					jobs := make(chan *index.Record)
					var group sync.WaitGroup
					for range writers {
						group.Go(func() {
							for r := range jobs {
								if _, err := f.store.Put(b.Context(), id.scope, fence, r); err != nil {
									b.Error(err)
								}
							}
						})
					}
					for i, text := range texts {
						r := id.record(fmt.Sprintf("%d/%d", round, i), text)
						r.Vectors[0], r.Model = vectors[i], embed.BuiltinModel
						r.IsNew, r.Ledger.JobID = isNew, fence.Job
						jobs <- r
					}
					close(jobs)
					group.Wait()
				}
				b.ReportMetric(float64(b.N*documents)/b.Elapsed().Seconds(), "documents/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
