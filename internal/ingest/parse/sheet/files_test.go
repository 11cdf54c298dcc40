package sheet_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

const formats = "../../../../testdata/formats"

// read reads a workbook by what it begins with.
func read(ctx context.Context, content []byte) (*document.Draft, error) {
	if bytes.HasPrefix(content, []byte("PK")) {
		return sheet.ReadXLSX(ctx, source(content))
	}
	return sheet.ReadXLS(ctx, source(content))
}

func fold(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestFilesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"xlsx", "xls"} {
		manifest, err := os.ReadFile(filepath.Join(formats, format, "manifest.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(manifest) {
			var file struct {
				Path, Expect, Reason string
				Phrases              []string
				Pages                int
			}
			if err := json.Unmarshal(line, &file); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			content, err := os.ReadFile(filepath.Join(formats, format, file.Path))
			if err != nil {
				t.Fatal(err)
			}
			draft, err := read(t.Context(), content)
			if file.Expect == "refuse" {
				if err == nil || !strings.Contains(err.Error(), file.Reason) {
					t.Errorf("%s: %v", file.Path, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", file.Path, err)
				continue
			}
			d := document.Document{Blocks: draft.Blocks}
			text := fold(d.Markdown())
			for _, phrase := range file.Phrases {
				if !strings.Contains(text, fold(phrase)) {
					t.Errorf("%s lacks %q", file.Path, phrase)
				}
			}
			if file.Pages > 0 && file.Pages != draft.Pages {
				t.Errorf("%s has %d pages", file.Path, draft.Pages)
			}
			if _, damaged := draft.Extra["damaged"]; damaged != strings.HasPrefix(file.Path, "broken") {
				t.Errorf("%s: %v", file.Path, draft.Extra)
			}
		}
	}
}

func TestWorkbooksOfTheCorpus(t *testing.T) {
	t.Parallel()
	folder := "../../../../../shared/corpora/office"
	file, err := os.Open(filepath.Join(folder, "manifest.csv"))
	if os.IsNotExist(err) {
		t.Skip("the folder shared is not beside the project: no real workbooks to read")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, row := range rows {
		if row[1] != "xls" && row[1] != "xlsx" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, row[0]))
		if err != nil {
			t.Fatal(err)
		}
		draft, err := read(t.Context(), content)
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		d := document.Document{Blocks: draft.Blocks}
		if !strings.Contains(fold(d.Markdown()), fold(row[3])) {
			t.Errorf("%s lacks %q", row[0], row[3])
		}
		found++
	}
	if found < 3 {
		t.Errorf("only %d workbooks", found)
	}
}
