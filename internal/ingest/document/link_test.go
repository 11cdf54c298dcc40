package document_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

func TestLinksAreThoseOfTheText(t *testing.T) {
	t.Parallel()
	d := document.Document{Title: "T", Blocks: []document.Block{
		{Kind: document.Paragraph, Text: "See [the guide](https://x.example/a_(b)) and ![a picture](p.png), [no link] (at all), [one](<two> \"title\").", Page: 2},
		{Kind: document.Code, Text: "[not](this)"},
		document.NewTable([]string{"[h](1)", "b"}, [][]string{{"x", "[**cell** [x]](../c.md#d)"}}),
		{Kind: document.Paragraph, Text: "[cut](https://x"},
	}}
	want := []document.Link{
		{Text: "the guide", URL: "https://x.example/a_(b)", Page: 2}, {Text: "one", URL: "two", Page: 2}, {Text: "h", URL: "1"},
		{Text: "**cell** [x]", URL: "../c.md#d"},
	}
	if got := d.Links(); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	hostile := document.Document{Blocks: []document.Block{{Kind: document.Paragraph, Text: strings.Repeat("](", 100_000)}}}
	if got := hostile.Links(); len(got) != 0 {
		t.Errorf("%d links", len(got))
	}
}

func TestStructureAsJSON(t *testing.T) {
	t.Parallel()
	d := document.Document{Title: "T", Format: "docx", DocType: "guide", Blocks: []document.Block{
		{Kind: document.Heading, Level: 2, Text: "H", Anchor: "h"}, document.NewTable([]string{"a"}, [][]string{{"1"}}),
	}}
	got, err := json.Marshal(d)
	want := `{"title":"T","format":"docx","doc_type":"guide","blocks":[{"kind":"heading","level":2,"text":"H","anchor":"h"},{"kind":"table","header":["a"],"rows":[["1"]]}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
