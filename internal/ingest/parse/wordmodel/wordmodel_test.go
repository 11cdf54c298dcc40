package wordmodel_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

func TestLineWritesMarkdown(t *testing.T) {
	t.Parallel()
	var l wordmodel.Line
	l.Append("  a ", wordmodel.Look{})
	l.Append("bold ", wordmodel.Look{Bold: true})
	l.Append("both", wordmodel.Look{Bold: true, Italic: true})
	l.Append(" \t\n half", wordmodel.Look{})
	l.Append("word", wordmodel.Look{Bold: true})
	l.Append(" code ", wordmodel.Look{Code: true})
	l.Append("the ", wordmodel.Look{Link: "https://example.org/"})
	l.Append("site", wordmodel.Look{Link: "https://example.org/", Bold: true})
	l.Append("[1]", wordmodel.Look{Aside: true})
	want := "a **bold** ***both***\nhalfword `code` [the site](https://example.org/)[1]"
	if got := l.Markdown(); got != want {
		t.Errorf("Markdown() = %q, want %q", got, want)
	}
	if got, want := l.Plain(), "a bold both halfword code the site"; got != want {
		t.Errorf("Plain() = %q, want %q", got, want)
	}
	l.Cut(len("  a bold"))
	if got, want := l.Plain(), "both halfword code the site"; got != want {
		t.Errorf("Plain() after Cut = %q, want %q", got, want)
	}
}

func TestWebLinkKeepsOnlyWebAndMailAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		" https://example.org/a b(c) ":              "https://example.org/a%20b%28c%29",
		"MAILTO:jo@example.org":                     "MAILTO:jo@example.org",
		"file:///etc/passwd":                        "",
		"javascript:alert(1)":                       "",
		"#place":                                    "",
		"https://example.org/\x00":                  "",
		"https://a.org/" + strings.Repeat("x", 1e4): "",
	} {
		if got := wordmodel.WebLink(address); got != want {
			t.Errorf("WebLink(%.40q) = %q, want %q", address, got, want)
		}
	}
}

func TestFieldsShowTheirResult(t *testing.T) {
	t.Parallel()
	var f wordmodel.Fields
	begin := func(code string) {
		f.Begin("")
		f.AppendCode([]byte(code))
	}
	begin(` HYPERLINK "https://example.org/" \o "a hint" `)
	if !f.InCode() || f.Link() != "" {
		t.Errorf("in the code: InCode() = %v, Link() = %q", f.InCode(), f.Link())
	}
	f.Separate(0)
	if f.InCode() || f.Link() != "https://example.org/" {
		t.Errorf("in the result: InCode() = %v, Link() = %q", f.InCode(), f.Link())
	}
	begin("PAGE")
	f.Separate(5)
	if !f.InPageNumber() {
		t.Error("InPageNumber() = false in a PAGE field")
	}
	if text := f.End(6); text != "" {
		t.Errorf("End() = %q for a field with a result", text)
	}
	begin(`MACROBUTTON name Click here`)
	f.Separate(6)
	if text, want := f.End(6), "Click here"; text != want {
		t.Errorf("End() = %q for a field without a result, want %q", text, want)
	}
	begin(`SYMBOL 252 \f Wingdings`)
	if text, want := f.End(6), "✓"; text != want {
		t.Errorf("End() = %q for a symbol, want %q", text, want)
	}
	begin("TOC")
	f.DropCodes()
	if f.InCode() || f.Depth() != 1 {
		t.Errorf("after DropCodes: InCode() = %v, Depth() = %d", f.InCode(), f.Depth())
	}
	f.EndParagraph(0)
	if f.Link() != "" || f.Depth() != 1 {
		t.Errorf("after EndParagraph: Link() = %q, Depth() = %d", f.Link(), f.Depth())
	}
}

func TestFieldsAreBounded(t *testing.T) {
	t.Parallel()
	var f wordmodel.Fields
	for range 100_000 {
		f.Begin("")
		f.AppendCode(make([]byte, 1000))
	}
	if f.Depth() > 500 {
		t.Errorf("Depth() = %d", f.Depth())
	}
}

func TestNumberFormats(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format wordmodel.NumberFormat
		number int
		want   string
	}{
		{wordmodel.Decimal, 7, "7"}, {wordmodel.OtherFormat, 7, "7"}, {wordmodel.DecimalZero, 7, "07"}, {wordmodel.DecimalZero, 12, "12"},
		{wordmodel.LowerLetter, 1, "a"}, {wordmodel.UpperLetter, 28, "BB"}, {wordmodel.LowerLetter, 1e6, "1000000"},
		{wordmodel.LowerRoman, 1994, "mcmxciv"}, {wordmodel.UpperRoman, 4, "IV"}, {wordmodel.LowerRoman, 0, "0"},
		{wordmodel.Ordinal, 1, "1st"}, {wordmodel.Ordinal, 12, "12th"}, {wordmodel.Ordinal, 23, "23rd"},
		{wordmodel.Bullet, 3, ""}, {wordmodel.NoNumber, 3, ""},
	} {
		if got := test.format.Text(test.number); got != test.want {
			t.Errorf("NumberFormat(%d).Text(%d) = %q, want %q", test.format, test.number, got, test.want)
		}
	}
}

func TestFlowJoinsNeighbours(t *testing.T) {
	t.Parallel()
	ordered := func(n int) wordmodel.Marker { return wordmodel.Marker{Ordered: true, Number: n} }
	var f wordmodel.Flow
	f.Item(0, ordered(1), "one\nmore", 1)
	f.Item(1, wordmodel.Marker{}, "nested", 1)
	f.AddLater(document.Block{Kind: document.Quote, Text: "a comment"})
	f.Gap(false)
	f.Item(0, ordered(2), "two", 1)
	f.Item(0, ordered(1), "a new list", 1)
	f.Join(document.Block{Kind: document.Code, Text: "a := 1"}, "\n")
	f.Gap(true)
	f.Join(document.Block{Kind: document.Code, Text: "b := 2"}, "\n")
	f.Join(document.Block{Kind: document.Quote, Text: "said"}, "\n\n")
	f.Add(document.Block{Kind: document.Paragraph, Text: "text"})
	var got []string
	for _, block := range f.Finish() {
		got = append(got, block.Text)
	}
	want := []string{
		"1. one\n   more\n   - nested\n2. two", "a comment", "1. a new list", "a := 1\n\nb := 2", "said", "text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Finish() (-want +got):\n%s", diff)
	}
}

func TestTableJoinsItsHeader(t *testing.T) {
	t.Parallel()
	var table wordmodel.TableBuilder
	table.Add([]string{"**Year**", "Sales"}, true)
	table.Add([]string{"", "Q1"}, true)
	table.Add([]string{"2024", "5"}, false)
	got, ok := table.Build(3)
	want := document.NewTable([]string{"Year", "Sales Q1"}, [][]string{{"2024", "5"}})
	want.Page = 3
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("Build() = %v (-want +got):\n%s", ok, diff)
	}
}

func TestRepeatedContentsAreFound(t *testing.T) {
	t.Parallel()
	paragraph := func(text string) document.Block { return document.Block{Kind: document.Paragraph, Text: text} }
	blocks := []document.Block{
		paragraph("Contents"), paragraph("1 Storage .... 17"), paragraph("2 Queues iv"), paragraph("Appendix of the printed edition"),
		{Kind: document.Heading, Text: "1. Storage"}, {Kind: document.Heading, Text: "Queues"}, paragraph("Storage"),
	}
	got := wordmodel.RepeatedContents(blocks, []int{0, 1, 2, 3})
	if diff := cmp.Diff(map[int]bool{0: true, 1: true, 2: true}, got); diff != "" {
		t.Errorf("RepeatedContents() (-want +got):\n%s", diff)
	}
}

func TestHeaderLinesHaveNoPageNumbers(t *testing.T) {
	t.Parallel()
	mark := string(wordmodel.PageNumberMark)
	got := wordmodel.HeaderLines("Annual  report\tPage " + mark + " of " + mark + "\n\n" + mark + " minutes of the meeting")
	if diff := cmp.Diff([]string{"Annual report", "minutes of the meeting"}, got); diff != "" {
		t.Errorf("HeaderLines() (-want +got):\n%s", diff)
	}
}

func TestStyleNamesHaveMeanings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]wordmodel.StyleMeaning{
		"Heading 2":       {HeadingLevel: 2},
		"Überschrift 1":   {HeadingLevel: 1},
		"Title":           {IsTitle: true},
		"toc 3":           {Role: wordmodel.RoleContents},
		"List Number 2":   {IsItem: true, IsOrdered: true, Nesting: 1},
		"Intense  Quote":  {Role: wordmodel.RoleQuote},
		"Source Code":     {Role: wordmodel.RoleCode},
		"Zip Code":        {},
		"Body Text":       {},
		"HTML Préformaté": {Role: wordmodel.RoleCode},
	} {
		if got := wordmodel.MeaningOf(name); got != want {
			t.Errorf("MeaningOf(%q) = %+v, want %+v", name, got, want)
		}
	}
}

func TestWorkHasLimits(t *testing.T) {
	t.Parallel()
	w := wordmodel.NewWork(t.Context(), 10)
	if err := w.Step(); err != nil {
		t.Errorf("Step() = %v", err)
	}
	for range 100 {
		w.Missing("styles")
	}
	if err := w.Tolerate("a chart", &document.DamagedError{Detail: "cut off"}); err != nil {
		t.Errorf("Tolerate() = %v for damage", err)
	}
	if diff := cmp.Diff([]string{"styles", "a chart (cut off)"}, w.Damage); diff != "" {
		t.Errorf("Damage (-want +got):\n%s", diff)
	}
	w.Cost = 11
	err := w.Step()
	if _, ok := errors.AsType[*document.LimitError](err); !ok {
		t.Errorf("Step() = %v, want a limit", err)
	}
	if got := w.Tolerate("a chart", err); got == nil {
		t.Error("Tolerate() = nil for a limit")
	}
}
