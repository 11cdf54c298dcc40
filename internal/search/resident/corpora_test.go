package resident_test

import (
	"context"
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

const corporaFolder = "../../../../shared/corpora"

// corpora returns the documents of the shared corpora with the builtin embedder's
// vectors.
var corpora = sync.OnceValues(func() ([]*index.Entry, error) {
	pipeline := ingest.New(parse.New(parse.Options{}), embed.NewBuiltin(), ingest.Options{})
	analyzer := analysis.New()
	sections := map[string][]string{}
	var entries []*index.Entry
	err := filepath.WalkDir(corporaFolder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if entry.Name() == "manifest.csv" {
			return readManifest(path, sections)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(corporaFolder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".mdx") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		result, err := pipeline.Process(context.Background(), parse.Input{Name: path, Content: content})
		if err != nil {
			return nil // a file without text
		}
		id := uuid.NewSHA1(uuid.Nil, []byte(path))
		e, err := index.Preview(analyzer, &index.Record{
			Connector: id, Collection: id, Document: id, SourceID: path, Path: path, Title: result.Document.Title,
			Text: result.Text, Passages: result.Passages, Vectors: result.Vectors, Model: embed.BuiltinModel,
			Section: at(sections[path], 0), Version: at(sections[path], 1), Language: at(sections[path], 2),
			Hash: result.Hash[:],
		})
		if err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	})
	return entries, err
})

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// readManifest adds section, version and language of each file in a manifest.
func readManifest(path string, sections map[string][]string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		return err
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	if _, ok := column["section"]; !ok {
		return nil
	}
	for _, row := range rows[1:] {
		sections[filepath.Join(filepath.Dir(path), row[column["path"]])] =
			[]string{row[column["section"]], row[column["version"]], row[column["language"]]}
	}
	return nil
}

// needCorpora returns the corpora, or skips the test if they are missing.
func needCorpora(tb testing.TB) []*index.Entry {
	tb.Helper()
	entries, err := corpora()
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("the shared corpora are not beside this checkout: %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return entries
}

// repeated repeats entries under new ids until there are enough passages. Their vectors
// have the given length and are perturbed, so that no two are equal.
func repeated(entries []*index.Entry, passages, length int) func(yield func(*index.Entry) bool) {
	return func(yield func(*index.Entry) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		n := 0
		for round := byte(0); ; round++ {
			for _, e := range entries {
				copied := *e
				copied.Document[15] ^= round
				copied.Passages = make([]index.EntryPassage, 0, len(e.Passages))
				for _, p := range e.Passages {
					p.ID[15] ^= round
					p.Vector = perturbed(r, p.Vector, length, 0.3)
					copied.Passages = append(copied.Passages, p)
				}
				if !yield(&copied) {
					return
				}
				if n += len(e.Passages); n >= passages {
					return
				}
			}
		}
	}
}

// perturbed returns a vector of the given length, turned at random by about an angle in
// radians.
func perturbed(r *rand.Rand, v []float32, length int, angle float64) []float32 {
	out := make([]float32, length)
	sum := 0.0
	for i := range out {
		x := float64(v[i%len(v)])
		if i >= len(v) {
			x *= 0.7
		}
		x += r.NormFloat64() * angle / math.Sqrt(float64(length))
		out[i] = float32(x)
		sum += x * x
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(sum))
	}
	return out
}
