package parse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/ingest/document"
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
