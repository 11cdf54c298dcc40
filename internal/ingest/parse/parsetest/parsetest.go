package parsetest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

// Formats is the folder of test files, from a package of a format.
const Formats = "../../../../testdata/formats"

// Corpora is the folder of shared corpora, from a package of a format. It may be missing.
const Corpora = "../../../../../shared/corpora"

// Read returns a file as a document. An error fails the test.
func Read(t testing.TB, name, content string) *document.Document {
	t.Helper()
	doc, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: name, Content: []byte(content)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return doc
}

// Headings returns the headings of a document, each as "## text #anchor".
func Headings(doc *document.Document) []string {
	var headings []string
	for _, block := range doc.Blocks {
		if block.Kind == document.Heading {
			headings = append(headings, strings.Repeat("#", block.Level)+" "+block.Text+" #"+block.Anchor)
		}
	}
	return headings
}

// CacheDir returns a folder that keeps compiled code between runs, if there is one.
func CacheDir(t testing.TB) string {
	t.Helper()
	folder, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(folder, "magpie", "test")
}

// Seeds returns the test files of a format, after further seeds.
func Seeds(t testing.TB, format string, seeds ...string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(Formats, format, "*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files of %s: %v", format, err)
	}
	for _, name := range names {
		if extension := filepath.Ext(name); extension == ".jsonl" || extension == ".golden" {
			continue
		}
		content, err := os.ReadFile(name) //nolint:gosec // a file of the repository
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, string(content))
	}
	return seeds
}

// Fuzz reads mutations of the seeds as files of a name, and checks their documents.
func Fuzz(f *testing.F, name string, seeds ...string) {
	f.Helper()
	const maxTime = 30 * time.Second
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	parser := parse.New(parse.Options{CacheDir: CacheDir(f)})
	f.Cleanup(func() {
		if err := parser.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, content []byte) {
		started := time.Now()
		doc, err := parser.Parse(t.Context(), parse.Input{Name: name, Content: content})
		if took := time.Since(started); took > maxTime {
			t.Fatalf("%d bytes took %s", len(content), took)
		}
		if err == nil {
			Check(t, doc)
			return
		}
		var unsupported *document.UnsupportedError
		if doc != nil || errors.As(err, &unsupported) && unsupported.Reason == "" || err.Error() == "" {
			t.Fatalf("document %v with error %v", doc, err)
		}
	})
}

// Check checks what must hold for every document.
func Check(t testing.TB, doc *document.Document) {
	t.Helper()
	if doc.Title == "" || doc.DocType == "" || len(doc.Blocks) == 0 {
		t.Fatalf("incomplete document: %+v", doc)
	}
	text, spans := doc.Render()
	if !utf8.ValidString(text) || !utf8.ValidString(doc.Title) {
		t.Fatal("the text is not UTF-8")
	}
	anchors := make(map[string]bool)
	for i := range doc.Blocks {
		block := &doc.Blocks[i]
		if text[spans[i].Start:spans[i].End] != block.Markdown() {
			t.Fatalf("block %d is not at its span", i)
		}
		for _, row := range block.Rows {
			if len(row) != len(block.Header) {
				t.Fatalf("a row of %d cells under a header of %d", len(row), len(block.Header))
			}
		}
		if block.Kind != document.Heading {
			continue
		}
		if block.Level < 1 || block.Level > 6 || block.Anchor == "" || anchors[block.Anchor] {
			t.Fatalf("bad heading %+v", block)
		}
		anchors[block.Anchor] = true
	}
}

// Benchmark reads a file of about 500 KB: a head, many copies of a part, and a tail.
func Benchmark(b *testing.B, name, head, part, tail string) {
	b.Helper()
	source := []byte(head + strings.Repeat(part, 500_000/len(part)) + tail)
	parser := parse.New(parse.Options{})
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := parser.Parse(b.Context(), parse.Input{Name: name, Content: source}); err != nil {
			b.Fatal(err)
		}
	}
}
