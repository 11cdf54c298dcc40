package parse_test

import (
	"context"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
)

// fuzzFormat checks what holds for every file of a format.
func fuzzFormat(f *testing.F, name string, seeds ...string) {
	f.Helper()
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	parser := parse.New(parse.Options{CacheDir: cacheDir(f)})
	f.Cleanup(func() {
		if err := parser.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, content []byte) {
		started := time.Now()
		doc, err := parser.Parse(context.Background(), parse.Input{Name: name, Content: content})
		if took := time.Since(started); took > 30*time.Second {
			t.Fatalf("%d bytes took %s", len(content), took)
		}
		if err != nil {
			var unsupported *document.UnsupportedError
			if doc != nil || errors.As(err, &unsupported) && unsupported.Reason == "" || err.Error() == "" {
				t.Fatalf("document %v with error %v", doc, err)
			}
			return
		}
		if doc.Title == "" || doc.DocType == "" || len(doc.Blocks) == 0 {
			t.Fatalf("incomplete document: %+v", doc)
		}
		text, spans := doc.Render()
		if !utf8.ValidString(text) || !utf8.ValidString(doc.Title) {
			t.Fatal("the text is no UTF-8")
		}
		taken := make(map[string]bool)
		for i := range doc.Blocks {
			block := &doc.Blocks[i]
			if text[spans[i].Start:spans[i].End] != block.Markdown() {
				t.Fatalf("block %d is not where it should be", i)
			}
			for _, row := range block.Rows {
				if len(row) != len(block.Header) {
					t.Fatalf("a row of %d cells under a header of %d", len(row), len(block.Header))
				}
			}
			if block.Kind != document.Heading {
				continue
			}
			if block.Level < 1 || block.Level > 6 || block.Anchor == "" || taken[block.Anchor] {
				t.Fatalf("bad heading %+v", block)
			}
			taken[block.Anchor] = true
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	fuzzFormat(f, "a.md", "---\ntitle: T\ntags: [a]\n---\n# H {#x}\n\ntext [a][b] `c`\n\n- l\n\n  ```go\n  x\n  ```\n\n|a|b|\n|-|-|\n|1|2|\n\n> q\n\n[b]: u\n",
		"+++\na = 1\n+++\n{% link x %} {{< ref \"a\" >}} <div>\n<table><tr><td>x</table>\n", "***\n* * *\n\n\tcode\n", "# \n#\n```\n")
}

func FuzzMDX(f *testing.F) {
	fuzzFormat(f, "a.mdx", "import A from 'a'\n\n<A b={{c: 'd'}}>x</A>\n{/* y */}\n:::note T\nz\n:::\n", "export const x = 1\n<></>{\"a\"}")
}

func FuzzHTML(f *testing.F) {
	fuzzFormat(f, "a.html", page, "<table><tr><td>a<td colspan=3>b</table><ul><li>x<ol><li>y", "<h1 id=a>x</h1><h1 id=a>y</h1><pre>z</pre>")
}

func FuzzText(f *testing.F) {
	fuzzFormat(f, "a.txt", "Title\n===\n\n- a\n- b\n", "\xff\xfea\x00b\x00", "caf\xe9", "\xfe\xff\x00a")
}

func FuzzRestructured(f *testing.F) {
	fuzzFormat(f, "a.rst", "===\nT\n===\n\na::\n\n  b\n\n.. code-block:: go\n\n  c\n")
}

func FuzzASCIIDoc(f *testing.F) {
	fuzzFormat(f, "a.adoc", "= T\n:lang: de\n\n[source,go]\n----\nx\n----\n== S\n")
}

func FuzzCode(f *testing.F) { fuzzFormat(f, "a.go", "package a\n\nfunc f() {\n\n}\n\nvar x = 1\n") }

func FuzzSeparated(f *testing.F) { fuzzFormat(f, "a.csv", "a,b\n\"1\",2\n", "a;b\n1;\"x\ny\"", "a\tb") }

func FuzzJSON(f *testing.F) {
	fuzzFormat(f, "a.json", `{"title": "t", "a": [1, {"b": "\u0000c"}], "d e": null}`, "[[1],[2]]\n3", `{"a":`)
}

func FuzzUnknown(f *testing.F) {
	fuzzFormat(f, "noextension", "<!doctype html><p>x", "%PDF-1", "PK\x03\x04", "text")
}
