package parse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/ingest/document"
	"magpie/internal/ingest/parse"
)

func TestPlainText(t *testing.T) {
	t.Parallel()
	got := mustParse(t, "a.txt", "Title\n=====\n\nOne\ntwo.\n\n- a\n- b\n\nTitle\n-----\nx\n").Blocks
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Title", Anchor: "title"}, {Kind: document.Paragraph, Text: "One\ntwo."},
		{Kind: document.List, Text: "- a\n- b"}, {Kind: document.Heading, Level: 2, Text: "Title", Anchor: "title-1"}, {Kind: document.Paragraph, Text: "x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRestructuredText(t *testing.T) {
	t.Parallel()
	got := mustParse(t, "a.rst", "=====\nGuide\n=====\n\nPart\n----\n\nRun this::\n\n    make\n    test\n\n.. code-block:: go\n   :linenos:\n\n   x := 1\n\nEnd.\n").Blocks
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Guide", Anchor: "guide"}, {Kind: document.Heading, Level: 2, Text: "Part", Anchor: "part"},
		{Kind: document.Paragraph, Text: "Run this:"}, {Kind: document.Code, Text: "make\ntest"}, {Kind: document.Code, Language: "go", Text: "x := 1"},
		{Kind: document.Paragraph, Text: "End."},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASCIIDoc(t *testing.T) {
	t.Parallel()
	doc := mustParse(t, "a.adoc", "= Guide\n:keywords: a, b\n// comment\n\nText.\n\n== Part\n\n[source,sh]\n----\nmake\n----\n")
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Guide", Anchor: "guide"}, {Kind: document.Paragraph, Text: "Text."},
		{Kind: document.Heading, Level: 2, Text: "Part", Anchor: "part"}, {Kind: document.Code, Language: "sh", Text: "make"},
	}
	if diff := cmp.Diff(want, doc.Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(doc.Tags) != 2 {
		t.Errorf("tags are %q", doc.Tags)
	}
}

func TestSourceCode(t *testing.T) {
	t.Parallel()
	long := "func f() {\n" + strings.Repeat("\tcall()\n\n", 150) + "}\n"
	doc := mustParse(t, "cmd/main.go", "package main\n\nimport \"fmt\"\n\n"+long+"\n"+long)
	if len(doc.Blocks) != 3 || doc.DocType != "code" || doc.Metadata["code_language"] != "go" || doc.Title != "main.go" {
		t.Fatalf("%d blocks of type %s in %s", len(doc.Blocks), doc.DocType, doc.Title)
	}
	for _, block := range doc.Blocks[1:] {
		if block.Kind != document.Code || block.Language != "go" || !strings.HasPrefix(block.Text, "func f") || !strings.HasSuffix(block.Text, "}") {
			t.Errorf("a declaration is cut: %q", block.Text)
		}
	}
	if doc = mustParse(t, "a.yaml", "a: 1\nb: 2\n"); doc.DocType != "config" || doc.Blocks[0].Language != "yaml" {
		t.Errorf("%+v", doc)
	}
}

func TestSeparatedValues(t *testing.T) {
	t.Parallel()
	table := func(header []string, rows ...[]string) []document.Block {
		return []document.Block{{Kind: document.Table, Header: header, Rows: rows}}
	}
	for name, c := range map[string]struct {
		file, content string
		want          []document.Block
	}{
		"commas":       {"a.csv", "A,B\n\"x, \"\"y\"\"\",\"two\nlines\"\n", table([]string{"A", "B"}, []string{`x, "y"`, "two lines"})},
		"semicolons":   {"a.csv", "A;B;C\n1,5;2;3\n", table([]string{"A", "B", "C"}, []string{"1,5", "2", "3"})},
		"tabs":         {"a.tsv", "A\tB\n1, 2\t\n", table([]string{"A", "B"}, []string{"1, 2", ""})},
		"bars":         {"a.csv", "A|B\n1|2\n", table([]string{"A", "B"}, []string{"1", "2"})},
		"ragged":       {"a.csv", "A,B\n1\n1,2,3\n\n,,\n", table([]string{"A", "B", "Column 3"}, []string{"1", "", ""}, []string{"1", "2", "3"})},
		"lazy quotes":  {"a.csv", "A,B\nsize 5\" x,\"y\" z\n", table([]string{"A", "B"}, []string{`size 5" x`, `y" z`})},
		"one column":   {"a.csv", "A\nx\n", table([]string{"A"}, []string{"x"})},
		"header alone": {"a.csv", "A,B\n", table([]string{"A", "B"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustParse(t, c.file, c.content).Blocks
			if len(got) == 1 && len(got[0].Rows) == 0 {
				got[0].Rows = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	long := "a,b\n\"" + strings.Repeat("row,more\n", 50000)
	if rows := len(mustParse(t, "a.csv", long).Blocks[0].Rows); rows != 50000 {
		t.Errorf("an open quote leaves %d rows", rows)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, content, want string }{
		"object": {"a.json", `{"name": "x", "port": 80, "on": true, "none": null, "tags": ["a", "b"], "inner": {"a b": {"c": 1.50}}}`,
			"name: x\nport: 80\non: true\nnone: null\ntags: a, b\n\ninner.\"a b\".c: 1.50"},
		"array":         {"a.json", `[{"a": 1}, {"a": [[2], 3]}]`, "[0].a: 1\n\n[1].a[0]: 2\n\n[1].a: 3"},
		"scalar":        {"a.json", `"text"`, "text"},
		"lines":         {"a.jsonl", "{\"a\":1}\n{\"a\":2}\n", "a: 1\n\na: 2"},
		"lines in JSON": {"a.json", "{\"a\":1}\n{\"a\":2}\n", "a: 1\n\na: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustParse(t, c.file, c.content).Markdown(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if title := mustParse(t, "openapi.json", `{"openapi": "3.1", "info": {"title": "Orders", "description": "d"}}`).Title; title != "Orders" {
		t.Errorf("title is %q", title)
	}
	for content, want := range map[string]string{
		`{"a": 1,`:            "byte 8 (line 1, column 9): the file ends too early",
		"{\n  \"a\": tru,\n}": "line 2",
		`{"a": 1} x`:          "invalid JSON at byte",
		`{"a" 1}`:             "invalid JSON at byte",
		`[1, 2`:               "the file ends too early",
		`nonsense`:            "invalid JSON at byte",
	} {
		_, err := parse.New(parse.Options{}).Parse(t.Context(), parse.Input{Name: "a.json", Content: []byte(content)})
		if unsupported := (*document.UnsupportedError)(nil); err == nil || errors.As(err, &unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
