package search_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
)

const corpora = "../../../shared/corpora"

// corpusFiles returns the Markdown pages of the corpora by path.
func corpusFiles(b *testing.B) map[string][]byte {
	b.Helper()
	files := make(map[string][]byte)
	err := filepath.WalkDir(corpora, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".md", ".mdx"}, filepath.Ext(path)) {
			return err
		}
		files[strings.TrimPrefix(path, corpora+"/")], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(files) == 0 {
		b.Skipf("the corpora at %s cannot be read: %v", corpora, err)
	}
	return files
}

// fill stores passages of the corpora until there are enough, and returns queries. Each
// round splits the pages differently, so that no two passages are equal.
func (f *fixture) fill(id tenant, files map[string][]byte, passages int) (questions []string) {
	f.Helper()
	jobs := make(chan *index.Record)
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for r := range jobs {
				if _, err := f.index.Put(f.Context(), id.scope, index.Fence{}, r); err != nil {
					f.Error(err)
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 1))
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for round, stored := 0, 0; stored < passages; round++ {
		target := 1000 - 90*round
		p := ingest.New(parse.New(parse.Options{}), embed.NewBuiltin(), ingest.Options{Passages: passage.Options{Target: target, Max: target * 6 / 5}})
		for _, name := range names {
			result, err := p.Process(f.Context(), parse.Input{Name: name, Content: files[name]})
			if err != nil || stored >= passages {
				continue
			}
			source := fmt.Sprintf("%d/%s", round, name)
			jobs <- &index.Record{
				Connector: id.connector, Collection: id.collection, SourceID: source, Path: source, Title: result.Document.Title,
				Language: result.Document.Language, Version: result.Document.Version, Text: result.Text,
				Section: fmt.Sprint(random.IntN(20)), // one in twenty documents each
				Tags:    []string{fmt.Sprint("tag ", random.IntN(300)), fmt.Sprint("tag ", random.IntN(300))},
				DocType: fmt.Sprint("type ", random.IntN(8)), UpdatedAt: time.Unix(1_700_000_000+int64(random.IntN(80_000_000)), 0),
				Passages: result.Passages, Vectors: result.Vectors, Model: embed.BuiltinModel,
			}
			stored += len(result.Passages)
			p := result.Passages[random.IntN(len(result.Passages))]
			if len(p.Headings) > 0 {
				questions = append(questions, result.Document.Title+" "+p.Headings[len(p.Headings)-1])
			} else {
				questions = append(questions, "how to "+result.Document.Title)
			}
		}
	}
	close(jobs)
	writers.Wait()
	random.Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
	return questions
}

// measure reports the latencies of queries.
func (f *fixture) measure(b *testing.B, id tenant, questions []string, q search.Query) {
	b.Helper()
	f.measureAs(b.Context(), b, id, questions, q)
}

func (f *fixture) measureAs(ctx context.Context, b *testing.B, id tenant, questions []string, q search.Query) {
	b.Helper()
	q.Limit, q.MinScore, q.Highlight = 10, 0.5, true
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		q.Text = questions[i%len(questions)]
		start := time.Now()
		if _, err := f.engine.Search(ctx, id.scope, q); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkSearchDemo(b *testing.B) {
	f := newFixture(b)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	var questions []string
	for _, q := range demoQuestions(b) {
		questions = append(questions, q.Query)
	}
	f.measure(b, id, questions, search.Query{})
}

// BenchmarkFacets measures searches of 100,000 resident passages with and without facets,
// and facets alone.
func BenchmarkFacets(b *testing.B) {
	files := corpusFiles(b)
	f := newFixture(b)
	id := f.tenant()
	questions := f.fill(id, files, 100_000)
	f.exec("vacuum analyze passage_index")
	for f.engine.Resident().Passages == 0 { // stored until the collection is loaded
		f.search(id, search.Query{Text: "warm"})
	}
	selected := search.Filters{Section: "7", DocTypes: []string{"type 1", "type 2", "type 3"}}
	for _, c := range []struct {
		name    string
		filters search.Filters
	}{{"all", search.Filters{}}, {"two-selected", selected}} {
		b.Run("search/"+c.name, func(b *testing.B) {
			// In turns, so that other load affects both alike. The processor time is almost
			// independent of it.
			var without, with durations
			for i := 0; b.Loop(); i++ {
				q := search.Query{Text: questions[i%len(questions)], Limit: 10, MinScore: 0.5, Filters: c.filters}
				counted := q
				counted.Facets = allFacets()
				without.add(f, id, q)
				with.add(f, id, counted)
			}
			without.report(b, "without")
			with.report(b, "with")
			b.ReportMetric(0, "ns/op")
		})
		b.Run("documents/"+c.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := f.engine.DocumentFacets(b.Context(), id.scope, search.Query{Filters: c.filters, Facets: allFacets()}); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("suggestions", func(b *testing.B) {
		var took []time.Duration
		for i := 0; b.Loop(); i++ {
			start := time.Now()
			if _, err := f.engine.Suggest(b.Context(), id.scope, search.Query{Text: questions[i%len(questions)][:6], Limit: 8}); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(0, "ns/op")
	})
}

// durations collects the wall and processor times of searches.
type durations struct {
	took      []time.Duration
	processor time.Duration
}

func (s *durations) add(f *fixture, id tenant, q search.Query) {
	f.Helper()
	before, start := processorTime(), time.Now()
	f.search(id, q)
	s.took = append(s.took, time.Since(start))
	s.processor += processorTime() - before
}

func (s *durations) report(b *testing.B, name string) {
	slices.Sort(s.took)
	b.ReportMetric(float64(s.took[len(s.took)/2].Microseconds())/1000, name+"-p50-ms")
	b.ReportMetric(float64(s.processor.Microseconds())/1000/float64(len(s.took)), name+"-cpu-ms")
}

// processorTime returns the processor time of the process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkSearch(b *testing.B) {
	for _, passages := range []int{20_000, 100_000} {
		b.Run(fmt.Sprint(passages), func(b *testing.B) {
			files := corpusFiles(b)
			f := newFixture(b)
			id := f.tenant()
			questions := f.fill(id, files, passages)
			if _, ok, err := f.index.NextIndexes(b.Context(), 0, 0); err != nil {
				b.Fatal(err)
			} else if ok {
				start := time.Now()
				owner, err := pgx.Connect(b.Context(), f.urls.OwnerURL)
				if err != nil {
					b.Fatal(err)
				}
				if err := index.BuildIndexes(b.Context(), owner, id.collection); err != nil {
					b.Fatal(err)
				}
				_ = owner.Close(b.Context())
				b.Logf("built the indexes of %d passages in %s", passages, time.Since(start).Round(time.Second))
			}
			f.exec("vacuum analyze passage_index")
			b.Run("all", func(b *testing.B) { f.measure(b, id, questions, search.Query{}) })
			b.Run("filtered-to-5-percent", func(b *testing.B) {
				f.measure(b, id, questions, search.Query{Filters: search.Filters{Section: "7"}})
			})
			b.Run("all-as-person", func(b *testing.B) { f.measureAs(viewerWith(b, []string{"user:ann"}), b, id, questions, search.Query{}) })
			// Each document is readable by ten of a hundred groups, and the viewer has fifty.
			f.exec(`update documents set readers = array(select 'group:' || ((hashtext(id::text || n) & 1023) % 100) from generate_series(1, 10) n)
				where collection_id = $1`, id.collection)
			f.exec("update collection_state set generation = generation + 1 where collection_id = $1", id.collection)
			groups := make([]string, 50)
			for i := range groups {
				groups[i] = fmt.Sprint("group:", i*2)
			}
			b.Run("readable-by-Magpie", func(b *testing.B) { f.measureAs(viewerWith(b, nil), b, id, questions, search.Query{}) })
			b.Run("readable-by-groups", func(b *testing.B) { f.measureAs(viewerWith(b, groups), b, id, questions, search.Query{}) })
			b.Run("filtered-to-half", func(b *testing.B) {
				f.measure(b, id, questions, search.Query{Filters: search.Filters{Language: "en"}})
			})
		})
	}
}
