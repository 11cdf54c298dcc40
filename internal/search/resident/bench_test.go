package resident_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

const benchmarkPassages = 100_000

// large holds indexes of repeated passages.
var large = struct {
	sync.Mutex
	indexes map[largeKey]*resident.Index
}{indexes: map[largeKey]*resident.Index{}}

type largeKey struct {
	passages, length int // length of vectors
}

func largeIndex(b *testing.B, length int) *resident.Index {
	b.Helper()
	return repeatedIndex(b, largeKey{benchmarkPassages, length})
}

func repeatedIndex(b *testing.B, key largeKey) *resident.Index {
	b.Helper()
	entries := needCorpora(b)
	large.Lock()
	defer large.Unlock()
	if x := large.indexes[key]; x != nil {
		return x
	}
	x := resident.New(resident.Options{})
	c := x.Change()
	if err := c.Begin(index.Position{Generation: 1, Change: 1}, "model", true); err != nil {
		b.Fatal(err)
	}
	for e := range repeated(entries, key.passages, key.length) {
		if err := c.Entry(e); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := c.Commit(); err != nil {
		b.Fatal(err)
	}
	large.indexes[key] = x
	return x
}

// BenchmarkLoad reports the time to load 100,000 passages and their memory.
func BenchmarkLoad(b *testing.B) {
	entries := slices.Collect(repeated(needCorpora(b), benchmarkPassages, 384))
	passages := 0
	for _, e := range entries {
		passages += len(e.Passages)
	}
	var bytes int64
	for b.Loop() {
		x := resident.New(resident.Options{})
		c := x.Change()
		if err := c.Begin(index.Position{Generation: 1, Change: 1}, "model", true); err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			if err := c.Entry(e); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.Commit(); err != nil {
			b.Fatal(err)
		}
		bytes = x.Bytes()
	}
	b.ReportMetric(float64(bytes)/float64(passages), "bytes/passage")
	b.ReportMetric(float64(passages*b.N)/b.Elapsed().Seconds(), "passages/s")
}

// questions about the corpora.
var questions = []string{
	"how to install a chart from a local folder",
	"etcd cluster disaster recovery snapshot restore",
	"changefeed kafka sink configuration options",
	"template functions quote default values",
	"what is the default port for client requests",
	"backup schedule incremental cloud storage",
	"role based access control user permissions",
	"Abhängigkeiten eines Charts verwalten",
	"upgrade downgrade version rolling",
	"transaction retry error serializable isolation",
}

// requests returns requests for the questions, with equal weights for their first
// words.
func requests(b *testing.B, s *resident.Snapshot, length, words int) []*rank.Request {
	b.Helper()
	analyzer, model := analysis.New(), embed.NewBuiltin()
	vectors, err := model.Embed(b.Context(), questions, embed.Query)
	if err != nil {
		b.Fatal(err)
	}
	n := s.Statistics()
	var out []*rank.Request
	for i, q := range questions {
		r := &rank.Request{
			AverageBody: float64(n.BodyWords) / float64(n.Passages), TopLexical: 1000, TopSimilar: 1000,
		}
		r.Vector = perturbed(newWorld(1, 1, 1).Rand, vectors[i], length, 0)
		for _, w := range analyzer.Words(q, "en") {
			if len(r.Words) < words {
				r.Words = append(r.Words, rank.Word{Terms: w.Terms, Weight: 1})
			}
		}
		r.MatchWords = len(r.Words)
		out = append(out, r)
	}
	return out
}

func BenchmarkCandidates(b *testing.B) {
	for _, length := range []int{256, 384} {
		for _, c := range []struct {
			name   string
			filter *rank.Filter
			change func(*rank.Request)
		}{
			{"all", nil, func(*rank.Request) {}},
			{"5percent", in(rank.FacetVersion, "v3.5"), func(*rank.Request) {}},
			{"words", nil, func(r *rank.Request) { r.Vector, r.TopSimilar = nil, 0 }},
			{"nohits", nil, func(r *rank.Request) { r.Vector, r.TopSimilar, r.MatchWords = nil, 0, 0 }},
			{"vectors", nil, func(r *rank.Request) { r.Words, r.MatchWords = nil, 0 }},
		} {
			b.Run(fmt.Sprintf("%d/%s", length, c.name), func(b *testing.B) {
				s := largeIndex(b, length).Snapshot()
				list := requests(b, s, length, 5)
				for _, r := range list {
					c.change(r)
				}
				total := 0
				measure(b, func(i int) {
					candidates, err := s.View(c.filter).Candidates(b.Context(), list[i%len(list)])
					if err != nil {
						b.Fatal(err)
					}
					total += len(candidates)
				})
				b.ReportMetric(float64(total)/float64(b.N), "candidates")
			})
		}
	}
}

// BenchmarkSearch measures whole searches without their statements and texts.
func BenchmarkSearch(b *testing.B) {
	vectors, err := embed.NewBuiltin().Embed(b.Context(), questions, embed.Query)
	if err != nil {
		b.Fatal(err)
	}
	analyzer, ranker := analysis.New(), rank.New()
	for _, passages := range []int{100_000, 1_000_000} {
		b.Run(strconv.Itoa(passages), func(b *testing.B) {
			s := repeatedIndex(b, largeKey{passages, len(vectors[0])}).Snapshot()
			measure(b, func(i int) {
				i %= len(questions)
				_, err := ranker.Search(b.Context(), []rank.Part{{Source: s.View(nil), Vector: vectors[i]}},
					rank.NewQuestion(analyzer, questions[i], "", false), rank.Options{MinScore: 0.5, Limit: 10})
				if err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkComplete(b *testing.B) {
	s := largeIndex(b, 384).Snapshot()
	measure(b, func(i int) {
		if _, err := s.View(nil).Complete(b.Context(), []string{"c", "in", "clu", "ba", "s"}[i%5], 30); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkRespell measures what corrections cost questions whose words are all known, to
// 100,000 passages.
func BenchmarkRespell(b *testing.B) {
	view := largeIndex(b, 384).Snapshot().View(nil)
	a := analysis.New()
	speller := rank.Speller{Analyzer: a, Texts: func(context.Context, int, []rank.Candidate) ([]rank.Text, error) {
		return nil, errors.New("a word is unknown")
	}}
	// Questions of words that are common, in new combinations.
	var words []string
	for letter := 'a'; letter <= 'z'; letter++ {
		terms, err := view.Complete(b.Context(), string(letter), 100)
		if err != nil {
			b.Fatal(err)
		}
		words = append(words, terms...)
	}
	random := newWorld(1, 1, 1)
	var questions []*rank.Question
	for range 5000 {
		text := ""
		for range 5 {
			text += random.choose(words...) + " "
		}
		questions = append(questions, rank.NewQuestion(a, text, "", false))
	}
	measure(b, func(i int) {
		if _, err := speller.Respell(b.Context(), []rank.Part{{Source: view}}, questions[i%len(questions)]); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkSimilar compares misspelled words with a dictionary of 500,000 terms.
func BenchmarkSimilar(b *testing.B) {
	random := newWorld(3, 10, 1)
	letters := []rune("eeeeaaaaiiiioooouuttttnnnnssssrrrrllddccmmppgghhbbffvvkkwwyyxzjq")
	var entries []*index.Entry
	terms := map[string]bool{}
	for len(terms) < 500_000 {
		e := random.entry(random.id())
		e.Passages = e.Passages[:1]
		var list []occurrence
		for p := range 200 {
			var word []rune
			for range 4 + random.IntN(9) {
				word = append(word, letters[random.IntN(len(letters))])
			}
			terms[string(word)] = true
			list = append(list, occurrence{string(word), uint16(1024 + p)})
		}
		e.Passages[0].Lexemes = lexemesOf(list)
		entries = append(entries, e)
	}
	x := resident.New(resident.Options{})
	if err := x.Apply(index.Position{Change: 1}, entries); err != nil {
		b.Fatal(err)
	}
	var patterns []*spelling.Pattern
	for _, w := range []string{"playbok", "inventry", "dynamc", "configuraton", "sevrer", "authentcation", "teh", "tranport"} {
		if p, ok := spelling.NewPattern(w, []string{w}, false); ok {
			patterns = append(patterns, p)
		}
	}
	measure(b, func(i int) {
		if _, err := x.Snapshot().View(nil).Similar(b.Context(), patterns[i%len(patterns)], 10); err != nil {
			b.Fatal(err)
		}
	})
}

// measure reports the median and the 99th percentile of the time of f.
func measure(b *testing.B, f func(i int)) {
	b.Helper()
	runtime.GC()
	var took []time.Duration
	busy := processorTime(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		from := time.Now()
		f(i)
		took = append(took, time.Since(from))
		i++
	}
	// Processor time is the figure to compare on a busy machine.
	b.ReportMetric(float64((processorTime(b)-busy).Microseconds())/1000/float64(b.N), "cpu-ms")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// processorTime returns the processor time of the process, garbage collection included.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
