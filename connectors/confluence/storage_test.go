package confluence_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/magpie-search/magpie/connectors/confluence"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func convertStorage(storage string) string {
	return confluence.FormatDocument("https://acme.atlassian.net/wiki", "ENG", "A page & its <title>", storage, []string{"ops", "how-to"},
		map[string]string{"557058:ada": "Ada", "ff80": "Bo"})
}

func TestStorageFormatBecomesHTML(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/storage/*.xml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, golden := convertStorage(string(source)), strings.TrimSuffix(file, ".xml")+".html"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("it became\n%s\nwant\n%s", got, want)
			}
			for _, bad := range []string{"<script", "javascript:", "<ac:", "<ri:", "alert(1)</", "type here"} {
				if strings.Contains(got, bad) {
					t.Errorf("%q is left in\n%s", bad, got)
				}
			}
		})
	}
}

// Search sees what the parser of documents makes of the HTML.
func TestParsedDocumentsKeepTheStructure(t *testing.T) {
	t.Parallel()
	var whole strings.Builder
	for _, name := range []string{"text", "macros", "parts"} {
		source, err := os.ReadFile("testdata/storage/" + name + ".xml")
		if err != nil {
			t.Fatal(err)
		}
		whole.Write(source)
	}
	parser := parse.New(parse.Options{})
	document, err := parser.Parse(t.Context(), parse.Input{Name: "ENG/A page", MediaType: "text/html", Content: []byte(convertStorage(whole.String()))})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	languages := ""
	for _, b := range document.Blocks {
		text.WriteString(b.Text + "\n")
		languages += b.Language + " "
	}
	if document.Title != "A page & its <title>" || len(document.Tags) != 2 {
		t.Errorf("title %q, tags %q", document.Title, document.Tags)
	}
	for _, want := range []string{"élan", "first line empty", "Know this.", "IN PROGRESS of OPS-42", "[x] Order disks, @Ada", "[ ] Mount them", "A rack", "2024-06-30",
		`"&lt;not an entity&gt;", "]]>"`, "Kept text.", "marked text", "🚀", "@Bo"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
	if !strings.Contains(languages, "go") {
		t.Errorf("the languages of code are %q", languages)
	}
}

func TestCommentsAreBelowThePage(t *testing.T) {
	t.Parallel()
	got := confluence.FormatComment("<p>Is it <em>so</em>?</p>", "Ada <x>", "the “rota”")
	for _, want := range []string{"<h2>Comments</h2>", "<strong>Ada &lt;x&gt;</strong>, 2024-05-02", "on “the “rota””", "<blockquote><p>Is it <em>so</em>?</p></blockquote>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestDeepAndLongPagesAreBounded(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"deep":      strings.Repeat("<div>", 200_000) + "text",
		"macros":    strings.Repeat(`<ac:structured-macro ac:name="expand"><ac:rich-text-body>`, 50_000) + "text",
		"unclosed":  strings.Repeat("<![CDATA[", 50_000),
		"ends":      strings.Repeat("</p>", 300_000) + "text",
		"mixed":     strings.Repeat("<b><i></b></i>", 100_000) + "text",
		"html":      `<ac:structured-macro ac:name="html"><ac:plain-text-body><![CDATA[` + strings.Repeat("<ac:structured-macro ac:name=\"html\"><ac:plain-text-body>", 1000) + "text",
		"plaintext": "<plaintext><textarea><xmp>text",
	} {
		if got := convertStorage(source); len(got) > 40*len(source)+10_000 || !strings.HasSuffix(got, "</html>\n") {
			t.Errorf("%s: %d bytes became %d", name, len(source), len(got))
		}
	}
}

func FuzzStorage(f *testing.F) {
	files, _ := filepath.Glob("testdata/storage/*.xml")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Fuzz(func(t *testing.T, source string) {
		got := convertStorage(source)
		if !utf8.ValidString(got) && utf8.ValidString(source) {
			t.Error("it is no text")
		}
		root, err := html.Parse(strings.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style" || n.Data == "iframe" || strings.Contains(n.Data, ":")) {
				t.Errorf("there is a %s in %q", n.Data, got)
			}
		}
	})
}
