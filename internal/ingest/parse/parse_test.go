package parse_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestUnsupportedFilesSayWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, mediaType, content, reason string }{
		"empty":                {"a.md", "", "", "empty"},
		"blank":                {"a.md", "", " \n\t\n", "empty"},
		"byte order mark only": {"a.md", "", "\xef\xbb\xbf \n", "empty"},
		"only front matter":    {"a.md", "", "---\ntitle: T\n---\n", "no text"},
		"binary named text":    {"a.txt", "", "ab\x00\x01\x02\x00\x03cd\x00\x00\xff", "binary content"},
		"film":                 {"a.mp4", "", "\x00\x00\x00\x18ftypmp42", "format not supported: video/mp4"},
		"film by type":         {"clip", "video/mp4", "text", "format not supported: video/mp4"},
		"program named text":   {"a.txt", "", "\x7FELF\x02\x01", "format not supported: application/x-executable"},
		"package":              {"a.jar", "", "PK\x03\x04\x00\x00", "format not supported: application/x-jar"},
		"separated with zeros": {"a.csv", "", "a,b\n1,\x00\x00\n", "binary content"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: c.file, MediaType: c.mediaType, Content: []byte(c.content)})
			var unsupported *document.UnsupportedError
			if !errors.As(err, &unsupported) || unsupported.Reason != c.reason {
				t.Errorf("got %v, want %q", err, c.reason)
			}
		})
	}
}

func TestContentDecidesBeforeTheName(t *testing.T) {
	t.Parallel()
	parser := newParser(t)
	for name, c := range map[string]struct{ file, content, want string }{
		"PDF":                 {"a.pdf", "%PDF-1.7\n\x00", "PDF is damaged"},
		"PDF named Markdown":  {"a.md", "%PDF-1.7\n1 0 obj", "PDF is damaged"},
		"text named PDF":      {"a.pdf", "This is no PDF.", "PDF is damaged"},
		"zip named text":      {"a.txt", "PK\x03\x04\x00\x00", "zip archive is damaged"},
		"Word as text":        {"a.docx", "anything", "Word document is damaged"},
		"Word cut off":        {"a.docx", "PK\x03\x04\x00\x00", "Word document is damaged"},
		"workbook cut off":    {"a.xlsx", "PK\x03\x04\x00\x00", "is damaged"},
		"old Word, cut off":   {"a.doc", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "is damaged"},
		"message cut off":     {"a.msg", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "is damaged"},
		"unnamed compound":    {"a", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "format not supported: application/x-ole-storage"},
		"rich text in a .txt": {"a.txt", "{\\rtf1 Words.}", ""},
		"page named .doc":     {"a.doc", "<html><body><p>Words.</p></body></html>", ""},
		"text named .xls":     {"a.xls", "Words.\tMore words.\n", ""},
		"page named .pdf":     {"a.pdf", "<!doctype html><p>Words.</p>", ""},
	} {
		doc, err := parser.Parse(t.Context(), parse.Input{Name: c.file, Content: []byte(c.content)})
		switch {
		case c.want == "" && (err != nil || !strings.Contains(doc.Markdown(), "Words.")):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSupportedDecidesOnlyWhatIsSure(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.md": "", "a.pdf": "", "a.unknown": "", "noextension": "", "Makefile": "", "a.DOCX": "", "a.tar.gz": "", "": "",
		"dir.zip/readme.md": "", "A.MP4": "format not supported: video/mp4", "a.xlsb": "", "a.7z": "format not supported: application/x-7z",
	} {
		if reason, ok := parse.New(parse.Options{}).Supported(name, ""); reason != want || ok != (want == "") {
			t.Errorf("%q: %q, %v", name, reason, ok)
		}
	}
	if reason, ok := parse.New(parse.Options{}).Supported("download", "video/mp4"); ok || reason != "format not supported: video/mp4" {
		t.Errorf("video: %q, %v", reason, ok)
	}
	if _, ok := parse.New(parse.Options{}).Supported("page.md", "application/octet-stream"); !ok {
		t.Error("a vague media type hides a known extension")
	}
}

func TestFactsOfPaths(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][4]string{ // language, version, section, type
		"de/3/chart_best_practices/values.md": {"de", "3", "chart_best_practices", "document"},
		"v3.4/op-guide/x.md":                  {"", "v3.4", "op-guide", "guide"},
		"docs/en/v2.0/api/keys.md":            {"en", "v2.0", "api", "api"},
		"docs/latest/faq.md":                  {"", "latest", "", "faq"},
		"site/pt-BR/install.md":               {"pt", "", "", "document"},
		"handbook/people/leave.md":            {"", "", "handbook", "document"},
		"it/laptops.md":                       {"", "", "it", "document"},
		"guide.de.md":                         {"de", "", "", "guide"},
		"release-2.1/CHANGELOG.md":            {"", "2.1", "", "changelog"},
		"2024/05/notes.md":                    {"", "", "2024", "document"},
		"x.md":                                {"", "", "", "document"},
		`docs\v1.2\cli\run.md`:                {"", "v1.2", "cli", "reference"},
		"src/main.go":                         {"", "", "", "code"},
		"data/prices.csv":                     {"", "", "data", "data"},
		"config/app.yaml":                     {"", "", "config", "config"},
	} {
		content := "Text."
		doc := parsetest.Read(t, name, content)
		if got := [4]string{doc.Language, doc.Version, doc.Section, doc.DocType}; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, hint, content, want string }{
		"front matter":       {"a.md", "Hint", "---\ntitle: Own\n---\n# Heading\n\nx", "Own"},
		"hint of the source": {"a.md", "Hint", "# Heading\n\nx", "Hint"},
		"hint is the file":   {"a.md", "a.md", "# Heading\n\nx", "Heading"},
		"heading":            {"a.md", "", "x\n\n## The `kv.x` [link](y)\n\nx", "The kv.x link"},
		"file name":          {"docs/getting-started_guide.md", "", "text", "Getting started guide"},
		"front page":         {"docs/admin-tools/index.md", "", "text", "Admin tools"},
		"code":               {"src/main.go", "", "package main", "main.go"},
		"page of a site":     {"a.html", "", "<title>Backup | Docs</title><h1>Backup</h1><p>x", "Backup"},
		"page":               {"a.html", "", "<title>Backup of all</title><h1>Backup</h1><p>x", "Backup of all"},
		"nothing":            {"", "", "text", "Untitled"},
	} {
		doc, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: c.file, Title: c.hint, Content: []byte(c.content)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if doc.Title != c.want {
			t.Errorf("%s: got %q, want %q", name, doc.Title, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	var limit *document.LimitError
	_, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.txt", Content: make([]byte, 100), Limits: document.Limits{MaxBytes: 99}})
	if !errors.As(err, &limit) || !strings.Contains(err.Error(), "too large") {
		t.Errorf("content beyond the limit gives %v", err)
	}
	_, err = parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.txt", Content: []byte(strings.Repeat("x\n\n", 100)), Limits: document.Limits{MaxText: 50}})
	if !errors.As(err, &limit) {
		t.Errorf("text beyond the limit gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = parse.New(parse.Options{}).Parse(ctx, parse.Input{Name: "a.md", Content: []byte("x")}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gives %v", err)
	}
}

// Each of these took a naive reader minutes or its stack. The bound is far above what they take.
func TestHostileFilesTakeLittleTime(t *testing.T) {
	t.Parallel()
	const n = 60000
	for name, c := range map[string]struct{ file, content string }{
		"quotes":           {"a.md", strings.Repeat(strings.Repeat(">", 500)+" x\n", 200)},
		"one deep quote":   {"a.md", strings.Repeat("> ", n) + "x"},
		"deep lists":       {"a.md", strings.Repeat("- ", n) + "x"},
		"stairs of lists":  {"a.md", stairs(400)},
		"brackets":         {"a.md", strings.Repeat("[", n) + strings.Repeat("a](", n)},
		"heading brackets": {"a.md", "# " + strings.Repeat("[", n)},
		"emphasis":         {"a.md", strings.Repeat("**a _b ", n)},
		"backquotes":       {"a.md", strings.Repeat("`a``b```c ", n)},
		"comments":         {"a.md", strings.Repeat("<!-- ", n)},
		"liquid":           {"a.md", strings.Repeat("{% {{ {{< {: ", n)},
		"comment tags":     {"a.md", strings.Repeat("{% comment %} ", n)},
		"JSX":              {"a.mdx", strings.Repeat("<A {{ ", n)},
		"braces":           {"a.mdx", strings.Repeat("{a ", n)},
		"tables in HTML":   {"a.md", strings.Repeat("<table ", n)},
		"open tags":        {"a.md", "x " + strings.Repeat("<a \"", n)},
		"anchors":          {"a.md", strings.Repeat("# a\n", n)},
		"references":       {"a.md", "[a]: /x\n\n" + strings.Repeat("[a", n)},
		"table columns":    {"a.md", strings.Repeat("|a", 2000) + "\n" + strings.Repeat("|-", 2000) + "\n" + strings.Repeat("|b\n", 2000)},
		"deep elements":    {"a.html", strings.Repeat("<div>", n) + "x"},
		"deep tables":      {"a.html", strings.Repeat("<table><tr><td>", 150) + "x"},
		"deep html lists":  {"a.html", strings.Repeat("<ul><li>a", 200) + "x"},
		"open elements":    {"a.html", strings.Repeat("<b><a href=x>", n) + "x"},
		"deep JSON":        {"a.json", strings.Repeat("[", n)},
		"table rows":       {"a.md", strings.Repeat("|a", 250) + "\n" + strings.Repeat("|-", 250) + "\n" + strings.Repeat("|b\n", n)},
		"ragged rows":      {"a.csv", strings.Repeat("a,", n) + "\n" + strings.Repeat("x\n", n)},
		"spanning cells":   {"a.html", "<table>" + strings.Repeat("<tr><td colspan=9999>a", n)},
		"long JSON paths":  {"a.json", strings.Repeat(`{"`+strings.Repeat("k", 200)+`":`, 200) + "[" + strings.Repeat("{\"a\":1},", 5000) + "1]" + strings.Repeat("}", 200)},
		"open quote":       {"a.csv", "a,b\n\"" + strings.Repeat("x,y\n", n)},
		"yaml aliases":     {"a.md", "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e]\n---\nx"},
		"literal blocks":   {"a.rst", strings.Repeat("a::\n\n", n)},
		"listing blocks":   {"a.adoc", strings.Repeat("----\n....\n", n)},
		"one line":         {"a.go", strings.Repeat("x", 1<<20)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			started := time.Now()
			doc, err := parse.New(parse.Options{}).Parse(ctx, parse.Input{Name: c.file, Content: []byte(c.content)})
			if err == nil && !utf8.ValidString(doc.Markdown()) {
				t.Error("the text is no UTF-8")
			}
			if took := time.Since(started); took > 10*time.Second {
				t.Errorf("took %s (error %v)", took, err)
			}
		})
	}
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- x\n")
	}
	return b.String()
}

// A word of a text may stand where archives have their magic.
func TestATextWithTheMagicOfAnArchiveIsText(t *testing.T) {
	t.Parallel()
	text := "# Wartung\n\n" + strings.Repeat("x", 246) + "ustart des Knotens. " + strings.Repeat("Danach läuft er wieder. ", 30)
	if text[257:262] != "ustar" {
		t.Fatalf("the text has %q there", text[257:262])
	}
	if d := parsetest.Read(t, "wartung.md", text); d.Format != "markdown" || d.Title != "Wartung" {
		t.Errorf("it is read as %s with the title %q", d.Format, d.Title)
	}
}
