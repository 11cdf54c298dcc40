package ingest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

const corporaFolder = "../../../shared/corpora"

// corpus reads the Markdown files of the shared corpora.
func corpus(b *testing.B) []parse.Input {
	b.Helper()
	var inputs []parse.Input
	err := filepath.WalkDir(corporaFolder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".mdx") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(corporaFolder, path)
		inputs = append(inputs, parse.Input{Name: name, Content: content})
		return err
	})
	if err != nil {
		b.Skipf("the shared corpora are not beside this checkout: %v", err)
	}
	return inputs
}

// BenchmarkParse reads every Markdown file of the corpora once a round.
func BenchmarkParse(b *testing.B) {
	inputs := corpus(b)
	size := 0
	for _, input := range inputs {
		size += len(input.Content)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, input := range inputs {
			if _, err := parse.New(parse.Options{}).Parse(b.Context(), input); err != nil && !isUnsupported(err) {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(inputs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}

func isUnsupported(err error) bool {
	var unsupported *document.UnsupportedError
	return errors.As(err, &unsupported)
}

// BenchmarkPipeline takes every Markdown file of the corpora through the whole pipeline with the builtin embedder, on as
// many workers as there are processors (set them with -cpu).
func BenchmarkPipeline(b *testing.B) {
	inputs := corpus(b)
	pipeline := ingest.New(parse.New(parse.Options{}), embed.NewBuiltin(), ingest.Options{})
	var passages atomic.Int64
	b.ReportAllocs()
	for b.Loop() {
		var next atomic.Int64
		var group sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			group.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= len(inputs) {
						return
					}
					result, err := pipeline.Process(b.Context(), inputs[i])
					if err != nil {
						if !isUnsupported(err) {
							b.Errorf("%s: %v", inputs[i].Name, err)
						}
						continue
					}
					passages.Add(int64(len(result.Passages)))
				}
			})
		}
		group.Wait()
	}
	b.ReportMetric(float64(passages.Load())/b.Elapsed().Seconds(), "chunks/s")
	b.ReportMetric(float64(len(inputs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}
