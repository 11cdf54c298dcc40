package parse_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/ocr"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

const formatsFolder = "../../../testdata/formats"

var update = flag.Bool("update", false, "rewrite the golden files")

// formats are the folders of testdata/formats.
func formats() []string {
	return []string{
		"archive", "asciidoc", "code", "csv", "doc", "docx", "eml", "epub", "html", "image", "ipynb", "json", "jsonl", "markdown", "mbox",
		"msg", "odp", "ods", "odt", "pdf", "ppt", "pptx", "rst", "rtf", "text", "xls", "xlsx", "xml", "yaml",
	}
}

// expectation is a line of a format's manifest.jsonl.
type expectation struct {
	Path string `json:"path"`
	// Expect is text, refuse (the document fails), skip (it is not read), or ocr (text where images are read, else skip).
	Expect  string   `json:"expect"`
	Phrases []string `json:"phrases"` // that the text must have, white space folded
	// PhrasesIn are those of a picture that are read only where tesseract has the language, such as deu.
	PhrasesIn map[string][]string `json:"phrases_in"`
	Reason    string              `json:"reason"` // part of the error of refuse and skip
	// What the structure must have, where it is set.
	Title    string   `json:"title"`
	Headings []string `json:"headings"`
	Tables   int      `json:"tables"`
	Pages    int      `json:"pages"`
	Language string   `json:"language"`
	// Golden asks for the whole structure to be kept in PATH.golden.
	Golden bool `json:"golden"`
}

func manifestOf(t *testing.T, format string) []expectation {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(formatsFolder, format, "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var list []expectation
	for line := range bytes.Lines(content) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e expectation
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v: %s", format, err, line)
		}
		list = append(list, e)
	}
	return list
}

// tally counts expected phrases and those that were found.
type tally struct{ files, wanted, found int }

func (c *tally) String() string {
	share := 100.0
	if c.wanted > 0 {
		share = 100 * float64(c.found) / float64(c.wanted)
	}
	return fmt.Sprintf("%3d files %4d of %4d phrases %6.1f %%", c.files, c.found, c.wanted, share)
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestEveryFormat reads the files of testdata/formats and compares them with what their manifests expect.
func TestEveryFormat(t *testing.T) {
	t.Parallel()
	parser := newParser(t)
	for _, format := range formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			var count tally
			refused := 0
			listed := map[string]bool{"manifest.jsonl": true}
			for _, e := range manifestOf(t, format) {
				listed[e.Path], listed[e.Path+".golden"] = true, e.Golden
				checkExpectation(t, parser, format, e, &count)
				if e.Expect == "refuse" || e.Expect == "skip" || strings.HasPrefix(e.Path, "broken") {
					refused++
				}
			}
			entries, err := os.ReadDir(filepath.Join(formatsFolder, format))
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range entries {
				if !listed[entry.Name()] {
					t.Errorf("%s is in no line of the manifest", entry.Name())
				}
			}
			if count.files < 3 || refused == 0 {
				t.Errorf("%d files, %d of them malformed: a format needs three and one", count.files, refused)
			}
			t.Logf("%-10s %s", format, &count)
		})
	}
}

// TestWithoutTextRecognition skips images and scanned pages, and says why.
func TestWithoutTextRecognition(t *testing.T) {
	t.Parallel()
	parser := parse.New(parse.Options{CacheDir: parsetest.CacheDir(t)})
	defer func() {
		if err := parser.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, format := range []string{"image", "pdf"} {
		for _, e := range manifestOf(t, format) {
			if format == "image" || e.Expect == "ocr" {
				checkExpectation(t, parser, format, e, &tally{})
			}
		}
	}
}

// withoutImages reads a file as a machine does that reads no images: golden
// files are the same everywhere.
func withoutImages(t *testing.T, name string, content []byte) *document.Document {
	t.Helper()
	parser := parse.New(parse.Options{CacheDir: parsetest.CacheDir(t)})
	defer func() {
		if err := parser.Close(); err != nil {
			t.Error(err)
		}
	}()
	d, err := parser.Parse(t.Context(), parse.Input{Name: name, Content: content})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newParser(t testing.TB) *parse.Parser {
	t.Helper()
	opt := parse.Options{CacheDir: parsetest.CacheDir(t)}
	if program, err := ocr.Find(""); err == nil {
		opt.OCR = program
	} else {
		t.Logf("images are not read here: %v", err)
	}
	parser := parse.New(opt)
	t.Cleanup(func() {
		if err := parser.Close(); err != nil {
			t.Error(err)
		}
	})
	return parser
}

// languagesOfImages are those that images are read in here.
func languagesOfImages(t *testing.T) []string {
	t.Helper()
	program, err := ocr.Find("")
	if err != nil {
		t.Fatal(err)
	}
	languages, err := program.Languages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return languages
}

func checkExpectation(t *testing.T, parser *parse.Parser, format string, e expectation, count *tally) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(formatsFolder, format, e.Path))
	if err != nil {
		t.Error(err)
		return
	}
	count.files++
	doc, err := parser.Parse(t.Context(), parse.Input{Name: e.Path, Content: content})
	var unsupported *document.UnsupportedError
	skipped := errors.As(err, &unsupported)
	expect := e.Expect
	switch {
	case !parser.ReadsImages() && (expect == "ocr" || format == "image"):
		expect, e.Reason = "skip", "tesseract"
	case expect == "ocr":
		expect = "text"
		for _, language := range languagesOfImages(t) {
			e.Phrases = append(e.Phrases, e.PhrasesIn[language]...)
		}
	}
	switch expect {
	case "text":
		if err != nil {
			count.wanted += len(e.Phrases)
			t.Errorf("%s: %v", e.Path, err)
			return
		}
		checkStructure(t, doc, e, count)
		if e.Golden {
			golden(t, filepath.Join(formatsFolder, format, e.Path+".golden"), structure(withoutImages(t, e.Path, content)))
		}
	case "refuse", "skip":
		if err == nil || skipped != (expect == "skip") || !strings.Contains(err.Error(), e.Reason) {
			t.Errorf("%s: got %v (skipped: %v), want to %s it because of %q", e.Path, err, skipped, expect, e.Reason)
		}
	default:
		t.Errorf("%s: the manifest expects %q", e.Path, e.Expect)
	}
}

func checkStructure(t *testing.T, doc *document.Document, e expectation, count *tally) {
	t.Helper()
	text := fold(doc.Markdown())
	for _, phrase := range e.Phrases {
		count.wanted++
		if strings.Contains(text, fold(phrase)) {
			count.found++
		} else {
			t.Errorf("%s lacks %q", e.Path, phrase)
		}
	}
	var headings []string
	tables := 0
	for i := range doc.Blocks {
		switch doc.Blocks[i].Kind {
		case document.Heading:
			headings = append(headings, doc.Blocks[i].Text)
		case document.Table:
			tables++
		case document.Paragraph, document.List, document.Code, document.Quote:
		}
	}
	for _, heading := range e.Headings {
		if !slices.Contains(headings, heading) {
			t.Errorf("%s has no heading %q, it has %q", e.Path, heading, headings)
		}
	}
	if tables < e.Tables || e.Pages > 0 && doc.Pages != e.Pages || e.Title != "" && doc.Title != e.Title ||
		e.Language != "" && doc.Language != e.Language {
		t.Errorf("%s: %d tables (want %d), %d pages (want %d), title %q (want %q), language %q (want %q)", e.Path, tables, e.Tables,
			doc.Pages, e.Pages, doc.Title, e.Title, doc.Language, e.Language)
	}
}

// structure writes a document as a golden file has it: what is known of it, and a line or more a block.
func structure(doc *document.Document) string {
	var b strings.Builder
	fact := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	fact("title", doc.Title)
	fact("format", doc.Format)
	fact("author", doc.Author)
	fact("language", doc.Language)
	fact("version", doc.Version)
	fact("section", doc.Section)
	fact("type", doc.DocType)
	fact("tags", strings.Join(doc.Tags, ", "))
	if !doc.CreatedAt.IsZero() {
		fact("created", doc.CreatedAt.Format("2006-01-02 15:04:05"))
	}
	if !doc.UpdatedAt.IsZero() {
		fact("updated", doc.UpdatedAt.Format("2006-01-02 15:04:05"))
	}
	if doc.Pages > 0 {
		fact("pages", fmt.Sprint(doc.Pages))
	}
	for _, key := range slices.Sorted(maps.Keys(doc.Metadata)) {
		fact("metadata "+key, fmt.Sprint(doc.Metadata[key]))
	}
	for i := range doc.Blocks {
		block := &doc.Blocks[i]
		fmt.Fprintf(&b, "\n== %s", block.Kind)
		switch block.Kind {
		case document.Heading:
			fmt.Fprintf(&b, " %d #%s", block.Level, block.Anchor)
		case document.Table:
			fmt.Fprintf(&b, " %d columns, %d rows", len(block.Header), len(block.Rows))
		case document.Code:
			fmt.Fprintf(&b, " %s", block.Language)
		case document.Paragraph, document.List, document.Quote:
		}
		if block.Page > 0 {
			fmt.Fprintf(&b, ", page %d", block.Page)
		}
		fmt.Fprintf(&b, "\n%s\n", block.Markdown())
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs (rewrite it with -update after looking); got:\n%s", path, got)
	}
}

// TestOfficeFiles reads the shared office files. Well-formed Office and Markdown files must give every phrase, and all files
// together 95 of 100.
func TestOfficeFiles(t *testing.T) {
	t.Parallel()
	manifest, err := os.Open(filepath.Join(corporaFolder, "office", "manifest.csv"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the shared corpora are not beside this checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manifest.Close() }()
	records, err := csv.NewReader(manifest).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	parser := newParser(t)
	counts := map[string]*tally{}
	var all tally
	for _, record := range records[1:] {
		name, format, expect, phrase := record[0], record[1], record[2], record[3]
		content, err := os.ReadFile(filepath.Join(corporaFolder, "office", name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parser.Parse(t.Context(), parse.Input{Name: name, Content: content})
		if counts[format] == nil {
			counts[format] = &tally{}
		}
		counts[format].files++
		var unsupported *document.UnsupportedError
		ok := true
		switch {
		case expect == "text", expect == "ocr" && parser.ReadsImages():
			ok = err == nil && strings.Contains(fold(doc.Title+" "+doc.Markdown()), phrase)
		case expect == "ocr":
			ok = errors.As(err, &unsupported)
		case expect == "refuse":
			ok = err != nil && !errors.As(err, &unsupported)
		}
		counts[format].wanted++
		all.wanted++
		if ok {
			counts[format].found++
			all.found++
			continue
		}
		t.Logf("%s: wanted %s %q, got error %v", name, expect, phrase, err)
		if slices.Contains([]string{"docx", "pptx", "xlsx", "odt", "ods", "odp", "md"}, format) {
			t.Errorf("%s is not read as it should", name)
		}
	}
	for _, format := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-5s %s", format, counts[format])
	}
	all.files = len(records) - 1
	t.Logf("all   %s", &all)
	if all.found*100 < all.wanted*95 {
		t.Errorf("%d of %d", all.found, all.wanted)
	}
}
