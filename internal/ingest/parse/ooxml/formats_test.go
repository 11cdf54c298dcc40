package ooxml_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
)

const (
	formatsFolder = "../../../../testdata/formats"
	officeFolder  = "../../../../../shared/corpora/office"
)

func readers() map[string]readFunc {
	return map[string]readFunc{"docx": ooxml.ReadWord, "pptx": ooxml.ReadSlides}
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestFormats reads the files of testdata/formats as their manifests expect.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format, read := range readers() {
		manifest, err := os.ReadFile(filepath.Join(formatsFolder, format, "manifest.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(manifest) {
			var expected struct {
				Path, Expect      string
				Phrases, Headings []string
				Tables, Pages     int
			}
			if err := json.Unmarshal(line, &expected); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(formatsFolder, format, expected.Path))
			if err != nil {
				t.Fatal(err)
			}
			draft, err := read(t.Context(), source(content, document.Limits{}))
			if refused := err != nil; refused != (expected.Expect == "refuse") {
				t.Errorf("%s: %v", expected.Path, err)
			}
			if err != nil {
				continue
			}
			text := fold(markdown(draft))
			for _, phrase := range expected.Phrases {
				if strings.Contains(phrase, "inserted from a page") {
					continue // read by another reader
				}
				if !strings.Contains(text, fold(phrase)) {
					t.Errorf("%s: %q is not in\n%s", expected.Path, phrase, text)
				}
			}
			var headings []string
			tables := 0
			for _, block := range draft.Blocks {
				switch block.Kind {
				case document.Heading:
					headings = append(headings, block.Text)
				case document.Table:
					tables++
				case document.Paragraph, document.List, document.Code, document.Quote:
				}
			}
			if expected.Headings != nil && !slices.Equal(headings, expected.Headings) || expected.Tables > 0 && tables != expected.Tables ||
				expected.Pages > 0 && draft.Pages != expected.Pages {
				t.Errorf("%s: headings %q, %d tables, %d pages", expected.Path, headings, tables, draft.Pages)
			}
			if broken := strings.HasPrefix(expected.Path, "broken"); broken != (draft.Extra["damaged"] != nil) {
				t.Errorf("%s: damaged: %v", expected.Path, draft.Extra["damaged"])
			}
		}
	}
}

// TestOfficeCorpus reads documents that others have made.
func TestOfficeCorpus(t *testing.T) {
	t.Parallel()
	manifest, err := os.Open(filepath.Join(officeFolder, "manifest.csv"))
	if err != nil {
		t.Skip("../shared/corpora/office is not there: nothing is read of it")
	}
	defer func() { _ = manifest.Close() }() // only read from
	rows, err := csv.NewReader(manifest).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, row := range rows[1:] {
		name, expect, phrase := row[0], row[2], row[3]
		read := readers()[row[1]]
		if read == nil {
			continue
		}
		content, err := os.ReadFile(filepath.Join(officeFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		draft, err := read(t.Context(), source(content, document.Limits{}))
		switch {
		case expect == "refuse" && err == nil:
			t.Errorf("%s is read", name)
		case expect == "refuse":
			found++
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !strings.Contains(fold(markdown(draft)), phrase):
			t.Errorf("%s: %q is not in %q", name, phrase, fold(markdown(draft)))
		default:
			found++
		}
	}
	t.Logf("%d files as expected", found)
}
