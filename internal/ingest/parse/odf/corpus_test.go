package odf_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
)

func reader(name string) (readFunc, bool) {
	switch filepath.Ext(name) {
	case ".odt", ".ott", ".fodt":
		return odf.ReadText, true
	case ".ods", ".ots", ".fods":
		return odf.ReadSpreadsheet, true
	case ".odp", ".otp", ".fodp":
		return odf.ReadPresentation, true
	}
	return nil, false
}

func folded(draft *document.Draft) string {
	return strings.Join(strings.Fields(markdown(draft)), " ")
}

// entry is one line of the manifests of testdata/formats.
type entry struct {
	Path, Expect, Reason, Title string
	Phrases, Headings           []string
	Tables, Pages               int
}

func TestFilesOfTheFormats(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"odt", "ods", "odp"} {
		manifest, err := os.ReadFile(filepath.Join(formats, folder, "manifest.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(manifest)); lines.Scan(); {
			var want entry
			if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			t.Run(folder+"/"+want.Path, func(t *testing.T) {
				t.Parallel()
				content, err := os.ReadFile(filepath.Join(formats, folder, want.Path))
				if err != nil {
					t.Fatal(err)
				}
				read, known := reader(want.Path)
				if !known {
					t.Fatal("no format of this package")
				}
				draft, err := read(t.Context(), source(content, document.Limits{}))
				want.compare(t, draft, err)
			})
		}
	}
}

func (want *entry) compare(t *testing.T, draft *document.Draft, err error) {
	t.Helper()
	if want.Expect == "refuse" {
		if err == nil || !strings.Contains(err.Error(), want.Reason) {
			t.Errorf("the error is %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	check(t, draft)
	text := folded(draft)
	for _, phrase := range want.Phrases {
		if !strings.Contains(text, phrase) {
			t.Errorf("lacks %q in %s", phrase, text)
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
	for _, heading := range want.Headings {
		if !slices.Contains(headings, heading) {
			t.Errorf("lacks the heading %q among %q", heading, headings)
		}
	}
	if want.Tables > 0 && tables != want.Tables || want.Pages > 0 && draft.Pages != want.Pages {
		t.Errorf("%d tables, %d pages", tables, draft.Pages)
	}
	if title, _ := draft.Meta["title"].(string); want.Title != "" && title != want.Title {
		t.Errorf("the title is %q", title)
	}
	if broken := strings.HasPrefix(want.Path, "broken"); broken != (draft.Extra["damaged"] != nil) {
		t.Errorf("damaged is %v", draft.Extra["damaged"])
	}
	for _, unseen := range []string{"struckenword", "invisible", "Contents of the book"} {
		if strings.Contains(text, unseen) {
			t.Errorf("gives %q, which is not shown", unseen)
		}
	}
}

func TestFilesOfTheCorpus(t *testing.T) {
	t.Parallel()
	office := filepath.Join("../../../../../shared/corpora", "office")
	manifest, err := os.Open(filepath.Join(office, "manifest.csv"))
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
	for _, record := range records[1:] {
		read, ours := reader(record[0])
		if !ours {
			continue
		}
		content, err := os.ReadFile(filepath.Join(office, record[0]))
		if err != nil {
			t.Fatal(err)
		}
		draft := mustRead(t, read, content)
		if text := folded(draft); !strings.Contains(text, record[3]) {
			t.Errorf("%s lacks %q", record[0], record[3])
		}
	}
}
