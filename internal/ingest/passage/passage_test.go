package passage_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Sentence number %d is here. ", i)
	}
	return strings.TrimSpace(b.String())
}

func heading(level int, text string) document.Block {
	return document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: strings.ToLower(text)}
}

func paragraph(text string) document.Block {
	return document.Block{Kind: document.Paragraph, Text: text}
}

func TestPassagesNeverReachOverTheTopTwoLevels(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Title: "Manual", Blocks: []document.Block{
		heading(1, "Manual"), paragraph("Intro."), heading(2, "One"), paragraph("First."), heading(3, "Detail"),
		paragraph("Second."), heading(3, "More"), paragraph("Third."), heading(2, "Two"), paragraph("Fourth."),
	}}
	passages := passage.Split(doc, passage.Options{})
	want := []struct{ headings, text, anchor string }{
		{"", "Intro.", "manual"},
		{"One", "First.\n\n### Detail\n\nSecond.\n\n### More\n\nThird.", "one"},
		{"Two", "Fourth.", "two"},
	}
	if len(passages) != len(want) {
		t.Fatalf("got %d passages: %+v", len(passages), passages)
	}
	for i, w := range want {
		if got := passages[i]; strings.Join(got.Headings, "/") != w.headings || got.Text != w.text || got.Anchor != w.anchor || got.Ordinal != i {
			t.Errorf("passage %d is %+v, want %+v", i, got, w)
		}
	}
}

func TestHeadingsOfPassages(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Title: "T", Blocks: []document.Block{
		heading(2, "A"), heading(3, "a"), heading(4, "x"), paragraph(words(40)), heading(4, "y"), paragraph(words(40)),
		heading(3, "b"), paragraph(words(15)), heading(3, "c"), paragraph("Short too."), heading(3, "empty"),
	}}
	var got []string
	for _, passage := range passage.Split(doc, passage.Options{}) {
		first, _, _ := strings.Cut(passage.Text, "\n")
		got = append(got, strings.Join(passage.Headings, "/")+": "+first[:min(len(first), 12)])
	}
	want := []string{"A/a/x: Sentence num", "A/a/y: Sentence num", "A/b: Sentence num", "A/c: Short too."}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTinySectionsShareAPassageThatKnowsThem(t *testing.T) {
	t.Parallel()
	doc := &document.Document{Title: "T", Blocks: []document.Block{
		heading(2, "A"), paragraph("Intro."), heading(3, "One"), paragraph("First."), heading(3, "Two"), heading(4, "Deep"), paragraph("Second."),
		heading(3, "Long"), paragraph(words(10)), heading(3, "Last"), paragraph("Third."), heading(3, "Empty"), heading(3, "End"), paragraph("Fourth."),
	}}
	type part struct{ headings, anchor, text string }
	var got [][]part
	for _, p := range passage.Split(doc, passage.Options{}) {
		parts := []part{{headings: strings.Join(p.Headings, "/"), anchor: p.Anchor}}
		at := 0
		for _, s := range p.Sections {
			parts[len(parts)-1].text = strings.TrimSpace(p.Text[at:s.Start])
			parts = append(parts, part{headings: strings.Join(s.Headings, "/"), anchor: s.Anchor})
			at = s.Start
		}
		parts[len(parts)-1].text = p.Text[at:]
		got = append(got, parts)
	}
	want := [][]part{
		{
			{"A", "a", "Intro."}, {"A/One", "one", "### One\n\nFirst."}, {"A/Two", "two", "### Two"},
			{"A/Two/Deep", "deep", "#### Deep\n\nSecond."},
		},
		{{"A/Long", "long", words(10)}},
		{{"A", "last", ""}, {"A/Last", "last", "### Last\n\nThird."}, {"A/Empty", "empty", "### Empty"}, {"A/End", "end", "### End\n\nFourth."}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLongTablesRepeatTheirHeaderAndKeepRowsWhole(t *testing.T) {
	t.Parallel()
	table := document.Block{Kind: document.Table, Header: []string{"Key", "Value"}}
	for i := range 200 {
		table.Rows = append(table.Rows, []string{fmt.Sprintf("key %d", i), words(2)})
	}
	passages := passage.Split(&document.Document{Title: "T", Blocks: []document.Block{table}}, passage.Options{})
	seen := 0
	for _, passage := range passages {
		lines := strings.Split(passage.Text, "\n")
		if lines[0] != "| Key | Value |" || lines[1] != "| --- | --- |" {
			t.Errorf("passage %d does not begin with the header: %q", passage.Ordinal, lines[:2])
		}
		for _, line := range lines[2:] {
			if !strings.HasPrefix(line, fmt.Sprintf("| key %d |", seen)) || !strings.HasSuffix(line, " |") {
				t.Fatalf("row %d is cut: %q", seen, line)
			}
			seen++
		}
		if length := utf8.RuneCountInString(passage.Text); length > 1200 {
			t.Errorf("passage %d has %d runes", passage.Ordinal, length)
		}
	}
	if seen != 200 || len(passages) < 10 {
		t.Errorf("%d rows in %d passages", seen, len(passages))
	}
}

func TestCodeThatFitsIsNotCutAndLongCodeKeepsItsFence(t *testing.T) {
	t.Parallel()
	code := strings.TrimSpace(strings.Repeat("line of code();\n", 60))
	doc := &document.Document{Title: "T", Blocks: []document.Block{
		paragraph(words(20)), {Kind: document.Code, Language: "go", Text: code}, paragraph("After."),
		{Kind: document.Code, Language: "sql", Text: strings.TrimSpace(strings.Repeat("SELECT 1;\nSELECT 2;\n\n", 200))},
	}}
	whole := 0
	for _, passage := range passage.Split(doc, passage.Options{}) {
		if strings.Contains(passage.Text, code) {
			whole++
		}
		if strings.Count(passage.Text, "```")%2 != 0 {
			t.Errorf("passage %d has an open fence: %q", passage.Ordinal, passage.Text)
		}
	}
	if whole != 1 {
		t.Errorf("the code stands whole in %d passages", whole)
	}
}

func TestOddDocuments(t *testing.T) {
	t.Parallel()
	if got := passage.Split(&document.Document{Title: "T"}, passage.Options{}); len(got) != 0 {
		t.Errorf("an empty document has %d passages", len(got))
	}
	onlyHeadings := passage.Split(&document.Document{Title: "T", Blocks: []document.Block{heading(1, "One"), heading(2, "Two")}}, passage.Options{})
	if len(onlyHeadings) == 0 || !strings.Contains(onlyHeadings[0].Text, "One") {
		t.Errorf("headings alone give %+v", onlyHeadings)
	}
	unbroken := passage.Split(&document.Document{Title: "T", Blocks: []document.Block{paragraph(strings.Repeat("x", 5000))}}, passage.Options{})
	if len(unbroken) != 5 {
		t.Errorf("5000 letters give %d passages", len(unbroken))
	}
	row := document.Block{Kind: document.Table, Header: []string{"A"}, Rows: [][]string{{words(100)}, {"b"}}}
	if got := passage.Split(&document.Document{Title: "T", Blocks: []document.Block{row}}, passage.Options{}); len(got) != 2 {
		t.Errorf("a long row gives %d passages", len(got))
	}
}
