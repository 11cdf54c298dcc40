package parse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

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
