package epub_test

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/epub"
)

const formats = "../../../../testdata/formats/epub"

// entry is one line of the manifest of testdata/formats/epub.
type entry struct {
	Path, Expect, Reason, Title string
	Phrases, Headings           []string
}

func folded(draft *document.Draft) string {
	return strings.Join(strings.Fields(markdown(draft)), " ")
}

func TestFilesOfTheFormat(t *testing.T) {
	t.Parallel()
	manifest, err := os.ReadFile(filepath.Join(formats, "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(manifest)); lines.Scan(); {
		var want entry
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		t.Run(want.Path, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join(formats, want.Path))
			if err != nil {
				t.Fatal(err)
			}
			draft, err := epub.Read(t.Context(), source(content, document.Limits{}))
			want.compare(t, draft, err)
		})
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
		if strings.ContainsAny(phrase, "|`(") || strings.HasPrefix(phrase, "- ") {
			continue // the stand-in for the reader of web pages knows neither lists, tables, code nor links
		}
		if !strings.Contains(text, phrase) {
			t.Errorf("lacks %q in %s", phrase, text)
		}
	}
	var headings []string
	for _, block := range draft.Blocks {
		if block.Kind == document.Heading {
			headings = append(headings, block.Text)
		}
	}
	for _, heading := range want.Headings {
		if !slices.Contains(headings, heading) {
			t.Errorf("lacks the heading %q among %q", heading, headings)
		}
	}
	if title, _ := draft.Meta["title"].(string); want.Title != "" && title != want.Title {
		t.Errorf("the title is %q", title)
	}
	if missing := strings.Contains(want.Path, "broken-chapter"); missing != (draft.Extra["damaged"] != nil) {
		t.Errorf("damaged is %v", draft.Extra["damaged"])
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
		if record[1] != "epub" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(office, record[0]))
		if err != nil {
			t.Fatal(err)
		}
		if text := folded(mustRead(t, content)); !strings.Contains(text, record[3]) {
			t.Errorf("%s lacks %q", record[0], record[3])
		}
	}
}

func check(t *testing.T, draft *document.Draft) {
	t.Helper()
	if !utf8.ValidString(markdown(draft)) {
		t.Fatal("the text is no UTF-8")
	}
	anchors := make(map[string]bool)
	for _, block := range draft.Blocks {
		if block.Page != 0 || block.Kind == document.Heading && (anchors[block.Anchor] || block.Level < 1 || block.Level > 6) {
			t.Fatalf("%+v", block)
		}
		if block.Kind == document.Heading {
			anchors[block.Anchor] = true
		}
	}
}

// maxSeed is the largest file that is mutated: of larger ones too little comes about.
const maxSeed = 4000

// FuzzRead reads packages as they are, and books with the input as their package document, contents or chapter.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob(filepath.Join(formats, "*.epub"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(content) < maxSeed {
			f.Add(content, byte(0))
		}
	}
	f.Add([]byte(`<package><metadata><dc:title>T</dc:title></metadata><manifest><item id="a" href="text/c1.xhtml" media-type="text/html"/></manifest><spine><itemref idref="a"/></spine></package>`), byte(1))
	f.Add([]byte(`<ncx><navMap><navPoint><navLabel><text>A</text></navLabel><content src="text/c1.xhtml#a"/></navPoint></navMap></ncx>`), byte(2))
	f.Add([]byte(`<html><body><p id="a">x<a epub:type="noteref" href="#n">1</a></p><aside epub:type="footnote" id="n" hidden=""><p>y</p></aside></body></html>`), byte(3))
	f.Fuzz(func(t *testing.T, content []byte, place byte) {
		switch place % 5 {
		case 1:
			content = book(t, []string{"<p id='a'>one</p>"}, map[string]string{"OEBPS/book.opf": string(content)})
		case 2:
			content = book(t, []string{"<p id='a'>one</p>"}, map[string]string{"OEBPS/toc.ncx": string(content)})
		case 3:
			content = book(t, []string{string(content), "<p>two</p>"}, nil)
		case 4:
			content = book(t, []string{"<p>one</p>"}, map[string]string{"META-INF/encryption.xml": string(content), "META-INF/container.xml": string(content)})
		}
		draft, err := epub.Read(t.Context(), source(content, document.Limits{MaxExpanded: 8 << 20, MaxText: 1 << 20}))
		if err == nil {
			check(t, draft)
		}
	})
}

// BenchmarkRead reads a book of 30 chapters; the bytes are those of the chapters, which a stand-in reads.
func BenchmarkRead(b *testing.B) {
	parts := map[string]string{}
	items, spine, size := "", "", 0
	for i := range 30 {
		var chapter strings.Builder
		fmt.Fprintf(&chapter, "<html><body><h1>Chapter %d</h1>", i)
		for j := range 100 {
			fmt.Fprintf(&chapter, `<p>Paragraph %d says <a href="c1.xhtml#p">this</a> and <em>that</em>. %s</p>`, j, strings.Repeat("Salt is made of sea and sun. ", 12))
		}
		name := fmt.Sprintf("c%d", i)
		parts["OEBPS/"+name+".xhtml"] = chapter.String() + "</body></html>"
		size += chapter.Len()
		items += `<item id="` + name + `" href="` + name + `.xhtml" media-type="application/xhtml+xml"/>`
		spine += `<itemref idref="` + name + `"/>`
	}
	parts["OEBPS/book.opf"] = `<package><manifest>` + items + `</manifest><spine>` + spine + `</spine></package>`
	content := book(b, nil, parts)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		draft, err := epub.Read(b.Context(), source(content, document.Limits{}))
		if err != nil || len(draft.Blocks) < 3000 {
			b.Fatal(err)
		}
	}
}
