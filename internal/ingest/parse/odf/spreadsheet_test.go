package odf_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
)

func cells(texts ...string) string {
	var b strings.Builder
	b.WriteString("<table:table-row>")
	for _, text := range texts {
		if text == "" {
			b.WriteString("<table:table-cell/>")
		} else {
			b.WriteString("<table:table-cell><text:p>" + text + "</text:p></table:table-cell>")
		}
	}
	b.WriteString("</table:table-row>")
	return b.String()
}

func spreadsheet(sheets ...string) []byte {
	var b strings.Builder
	for i, sheet := range sheets {
		b.WriteString(`<table:table table:name="S` + string(rune('1'+i)) + `">` + sheet + `</table:table>`)
	}
	return flat("spreadsheet", "", b.String())
}

func TestSheetsGiveTheirCells(t *testing.T) {
	t.Parallel()
	head := cells("A", "B")
	for name, c := range map[string]struct{ sheet, want string }{
		"texts": {head + cells("1", "2"), "| A | B |\n| --- | --- |\n| 1 | 2 |"},
		"values": {head + `<table:table-row><table:table-cell office:value-type="float" office:value="3.25"/><table:table-cell office:value-type="boolean" office:boolean-value="true"/></table:table-row>` +
			`<table:table-row><table:table-cell office:value-type="string" office:string-value="s"/><table:table-cell office:value-type="float" office:value="3.25"><text:p>3.3 EUR</text:p></table:table-cell></table:table-row>`,
			"| A | B |\n| --- | --- |\n| 3.25 | true |\n| s | 3.3 EUR |"},
		"several lines and blanks": {head + cells("a</text:p><text:p>b", "c<text:s text:c=\"3\"/>d<text:line-break/>e"), "| A | B |\n| --- | --- |\n| a b | c d e |"},
		"links":                    {head + cells(`<text:a xlink:href="https://a.example">x</text:a>`, `<text:span text:style-name="T1">y</text:span>`), "| A | B |\n| --- | --- |\n| [x](https://a.example) | y |"},
		"repetitions": {`<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>A</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16382"/></table:table-row>` +
			`<table:table-row table:number-rows-repeated="3">` + `<table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row>` +
			`<table:table-row table:number-rows-repeated="1048572"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>`,
			"| A | A |\n| --- | --- |\n| 1 | 2 |\n| 1 | 2 |\n| 1 | 2 |"},
		"covered cells": {`<table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>A</text:p></table:table-cell><table:covered-table-cell><text:p>no</text:p></table:covered-table-cell><table:table-cell><text:p>C</text:p></table:table-cell></table:table-row>` + cells("1", "2", "3"),
			"| A |  | C |\n| --- | --- | --- |\n| 1 | 2 | 3 |"},
		"groups":   {"<table:table-header-rows>" + head + "</table:table-header-rows><table:table-row-group><table:table-rows>" + cells("1", "2") + "</table:table-rows></table:table-row-group>", "| A | B |\n| --- | --- |\n| 1 | 2 |"},
		"comments": {head + `<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="2"><text:p>x</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><office:annotation><dc:creator>Ann</dc:creator><text:p>why</text:p></office:annotation><text:p>2</text:p></table:table-cell></table:table-row>`, "| A | B |\n| --- | --- |\n| x | x |\n| x | x |\n| 1 | 2 |\n\n> B4: Ann: why"},
		"charts":   {head + `<table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><draw:frame><draw:object><office:document><office:body><office:chart><chart:chart><chart:title><text:p>Rain</text:p></chart:title><table:table><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell></table:table-row></table:table></chart:chart></office:chart></office:body></office:document></draw:object></draw:frame><text:p>2</text:p></table:table-cell></table:table-row>`, "| A | B |\n| --- | --- |\n| 1 | 2 |\n\nRain"},
		"shapes":   {`<table:shapes><draw:frame><draw:text-box><text:p>aside</text:p></draw:text-box></draw:frame></table:shapes>` + head + cells("1", "2"), "| A | B |\n| --- | --- |\n| 1 | 2 |\n\naside"},
		"not content": {`<office:forms><form:form>no</form:form></office:forms><table:table-source/><table:table-column table:number-columns-repeated="1024"/>` + head + cells("1", "2") + `<calcext:conditional-formats><x>no</x></calcext:conditional-formats>`,
			"| A | B |\n| --- | --- |\n| 1 | 2 |"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, want := markdown(mustRead(t, odf.ReadSpreadsheet, spreadsheet(c.sheet))), "## S1\n\n"+c.want; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestSheetsAreThePages(t *testing.T) {
	t.Parallel()
	rows := cells("A", "B") + cells("1", "2")
	comment := `<table:table-row><table:table-cell><office:annotation><text:p>note</text:p></office:annotation><text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row>`
	content := flat("spreadsheet", "", `<table:tracked-changes><table:deletion><table:table-cell><text:p>no</text:p></table:table-cell></table:deletion></table:tracked-changes>`+
		`<table:table table:name="One">`+rows+comment+`</table:table><table:table table:name="'file:///x.ods'#$S" table:style-name="ta_extref">`+rows+`</table:table>`+
		`<table:table table:name="Two">`+rows+`</table:table><table:named-expressions><x>no</x></table:named-expressions>`)
	draft := mustRead(t, odf.ReadSpreadsheet, content)
	if draft.Pages != 2 || draft.Prose {
		t.Errorf("%d pages, prose %v", draft.Pages, draft.Prose)
	}
	want := "## One\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n| x | y |\n\n> A3: note\n\n## Two\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"
	if got := markdown(draft); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	pages := 1
	for _, block := range draft.Blocks {
		if block.Text == "Two" {
			pages = 2
		}
		if block.Page != pages {
			t.Errorf("%q is on page %d", block.Markdown(), block.Page)
		}
	}
}

func TestRepetitionsCostLittle(t *testing.T) {
	t.Parallel()
	huge := `<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell></table:table-row>`
	draft := mustRead(t, odf.ReadSpreadsheet, spreadsheet(strings.Repeat(huge, 5)))
	if size := len(markdown(draft)); size > 4<<20 {
		t.Errorf("%d bytes", size)
	}
	far := `<table:table-row><table:table-cell table:number-columns-repeated="16383"/><table:table-cell><text:p>far out</text:p></table:table-cell></table:table-row>`
	text := markdown(mustRead(t, odf.ReadSpreadsheet, spreadsheet(cells("A", "B")+strings.Repeat(far, 200))))
	if strings.Count(text, "far out") != 200 || len(text) > 1<<20 {
		t.Errorf("%d bytes", len(text))
	}
	sparse := "<table:table-row>" + strings.Repeat(`<table:table-cell/><table:table-cell><text:p>x</text:p></table:table-cell>`, 1000) + "</table:table-row>"
	for _, block := range mustRead(t, odf.ReadSpreadsheet, spreadsheet(sparse+sparse)).Blocks {
		if len(block.Header) > document.MaxColumns {
			t.Errorf("%d columns", len(block.Header))
		}
	}
}
