package frontmatter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestFactsOfFrontMatter(t *testing.T) {
	t.Parallel()
	yaml := "---\nTitle: \"Backups: all of them\"\ndescription: How to.\ntags: [One, two, one]\nkeywords: three, Two\nversion: 2.10\nsection: Ops\n" +
		"lang: de-DE\nauthor: [Ada, Bob]\ndate: 2024-03-01\nlastmod: 2024-05-02T10:00:00Z\ntype: reference\nweight: 5\nnested: {a: 1}\n---\nText.\n"
	doc := parsetest.Read(t, "en/v1/guides/x.md", yaml)
	want := &document.Document{
		Title: "Backups: all of them", Format: "markdown", Language: "de", Author: "Ada, Bob", Section: "Ops", Version: "2.1", DocType: "reference",
		Tags: []string{"One", "two", "three"}, CreatedAt: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), UpdatedAt: time.Date(2024, 5, 2, 10, 0, 0, 0, time.UTC),
		Metadata: map[string]any{"description": "How to.", "weight": 5, "type": "reference"}, Blocks: []document.Block{{Kind: document.Paragraph, Text: "Text."}},
	}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
	doc = parsetest.Read(t, "x.md", "+++\ntitle = \"T\"\ntags = [\"a\"]\ndate = 2024-03-01\n+++\nText.\n")
	if doc.Title != "T" || len(doc.Tags) != 1 || doc.CreatedAt.IsZero() || doc.Markdown() != "Text." {
		t.Errorf("TOML: %+v", doc)
	}
	doc = parsetest.Read(t, "x.md", "---\ntitle: Foo: bar\ntags: [\n---\nText.\n")
	if doc.Title != "Foo: bar" || doc.Markdown() != "Text." || doc.Metadata["front_matter_error"] == nil {
		t.Errorf("broken YAML: %+v", doc)
	}
	doc = parsetest.Read(t, "x.md", "---\n\nNo front matter, two rules.\n\n---\n\nMore.\n")
	if !strings.Contains(doc.Markdown(), "No front matter") {
		t.Errorf("text between rules is lost: %q", doc.Markdown())
	}
	doc = parsetest.Read(t, "x.md", "---\ndescription: All there is.\n---\n")
	if doc.Markdown() != "All there is." {
		t.Errorf("a page of description alone has text %q", doc.Markdown())
	}
}
