package odf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
)

func benchmark(b *testing.B, read readFunc, inside []byte) {
	b.Helper()
	content := pack(b, map[string]string{"content.xml": string(inside)})
	b.SetBytes(int64(len(inside)))
	b.ReportAllocs()
	for b.Loop() {
		draft, err := read(b.Context(), source(content, document.Limits{MaxRatio: 10_000}))
		if err != nil || len(draft.Blocks) == 0 {
			b.Fatal(err)
		}
	}
}

// BenchmarkText reads a text of about 200 pages; the bytes are those of its content.xml.
func BenchmarkText(b *testing.B) {
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, `<text:h text:style-name="Heading_20_2" text:outline-level="2">Section %d</text:h>`, i)
		for j := range 3 {
			fmt.Fprintf(&text, `<text:p text:style-name="Text_20_body">The tide turns the wheel, and <text:span text:style-name="T1">wheel %d</text:span> turns the stone. %s</text:p>`, j, strings.Repeat("Water has its own hours. ", 15))
		}
		text.WriteString(listOf(`text:style-name="N"`, "<text:p>first of the steps</text:p>", "<text:p>second of the steps</text:p>"))
	}
	benchmark(b, odf.ReadText, flat("text", textStyles, text.String()))
}

// BenchmarkSheet reads a sheet of 100,000 rows.
func BenchmarkSheet(b *testing.B) {
	var rows strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&rows, `<table:table-row table:style-name="ro1"><table:table-cell office:value-type="float" office:value="%d" calcext:value-type="float"><text:p>%d</text:p></table:table-cell>`+
			`<table:table-cell office:value-type="string" calcext:value-type="string"><text:p>Harbour number %d</text:p></table:table-cell><table:table-cell table:style-name="ce1" office:value-type="date" office:date-value="2024-01-01"><text:p>01.01.2024</text:p></table:table-cell>`+
			`<table:table-cell office:value-type="float" office:value="1.5"><text:p>1.50</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16380"/></table:table-row>`, i, i, i)
	}
	benchmark(b, odf.ReadSpreadsheet, spreadsheet(rows.String()))
}
