package pdf_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// formats are the folders with files of the formats.
	formats = "../../../../testdata/formats"
	// corpus is the shared folder with office files, which may be missing.
	corpus = "../../../../../shared/corpora/office"
)

// expected is a line of a manifest.
type expected struct {
	Path, Expect, Reason, Title, Language string
	Phrases, Headings                     []string
	Tables, Pages                         int
}

func TestFilesOfTheProject(t *testing.T) {
	t.Parallel()
	manifest, err := os.ReadFile(filepath.Join(formats, "pdf", "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for row := range strings.Lines(string(manifest)) {
		var file expected
		if err := json.Unmarshal([]byte(row), &file); err != nil {
			t.Fatal(err)
		}
		listed[file.Path] = true
		t.Run(file.Path, func(t *testing.T) {
			t.Parallel()
			file.check(t)
		})
	}
	files, err := filepath.Glob(filepath.Join(formats, "pdf", "*.pdf"))
	if err != nil || len(files) != len(listed) {
		t.Errorf("%d files, %d are listed, %v", len(files), len(listed), err)
	}
}

func (e *expected) check(t *testing.T) {
	t.Helper()
	draft, err := shared.Read(t.Context(), document.Source{Name: e.Path, Content: sample(t, e.Path)})
	if e.Expect != "text" {
		if err == nil || !strings.Contains(err.Error(), e.Reason) {
			t.Errorf("got %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	text := markdown(draft)
	for _, phrase := range e.Phrases {
		if !strings.Contains(text, phrase) {
			t.Errorf("%q is missing", phrase)
		}
	}
	var headings []string
	tables := 0
	for i := range draft.Blocks {
		switch block := &draft.Blocks[i]; block.Kind {
		case document.Heading:
			headings = append(headings, block.Text)
		case document.Table:
			tables++
		case document.Paragraph, document.List, document.Code, document.Quote:
		}
	}
	for _, heading := range e.Headings {
		if !slices.Contains(headings, heading) {
			t.Errorf("%q is none of the headings %q", heading, headings)
		}
	}
	if tables != e.Tables || draft.Pages != e.Pages {
		t.Errorf("%d tables, %d pages; want %d and %d", tables, draft.Pages, e.Tables, e.Pages)
	}
}

// markdown returns the text of a draft with its white space folded.
func markdown(draft *document.Draft) string {
	var b strings.Builder
	for i := range draft.Blocks {
		b.WriteString(draft.Blocks[i].Markdown() + "\n")
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestFilesOfTheCorpus(t *testing.T) {
	t.Parallel()
	file, err := os.Open(filepath.Join(corpus, "manifest.csv"))
	if err != nil {
		t.Skipf("the shared corpora are not beside this checkout: %v", err)
	}
	defer func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		path, kind, expect, phrase := row[0], row[1], row[2], row[3]
		if kind != "pdf" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join(corpus, path))
			if err != nil {
				t.Fatal(err)
			}
			draft, err := shared.Read(t.Context(), document.Source{Name: filepath.Base(path), Content: content})
			switch {
			case expect == "refuse":
				if err == nil {
					t.Error("it was read")
				}
			case expect == "any":
			case err != nil:
				t.Error(err)
			case !strings.Contains(markdown(draft), phrase):
				t.Errorf("%q is missing", phrase)
			}
		})
	}
}
