package sheet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

// bigSheet is a sheet of ten columns: texts that are shared and texts that are not, numbers with and without formats, dates.
func bigSheet(rows int) string {
	var b strings.Builder
	b.WriteString("<worksheet><sheetData><row>")
	for i := range 10 {
		fmt.Fprintf(&b, `<c t="inlineStr"><is><t>Column %d</t></is></c>`, i)
	}
	b.WriteString("</row>")
	for n := 2; n < rows+2; n++ {
		fmt.Fprintf(&b, `<row r="%d" spans="1:10"><c r="A%d"><v>%d</v></c><c r="B%d" s="1"><v>%d</v></c><c r="C%d" t="s"><v>%d</v></c>`, n, n, n, n, 40000+n%3000, n, n%1000)
		fmt.Fprintf(&b, `<c r="D%d" t="s"><v>%d</v></c><c r="E%d" t="inlineStr"><is><t>note %d of the list</t></is></c><c r="F%d"><v>%d</v></c>`, n, n%7, n, n, n, n%50)
		fmt.Fprintf(&b, `<c r="G%d" s="2"><v>%d.%d</v></c><c r="H%d" s="2"><v>%d.25</v></c><c r="I%d" t="b"><v>%d</v></c><c r="J%d"><v>0.%d</v></c></row>`, n, n%97, 1+n%99, n, n*3, n, n%2, n, n%1000*10+1)
	}
	b.WriteString("</sheetData></worksheet>")
	return b.String()
}

func BenchmarkReadXLSX(b *testing.B) {
	var texts strings.Builder
	texts.WriteString("<sst>")
	for i := range 1000 {
		fmt.Fprintf(&texts, "<si><t>Customer number %d</t></si>", i)
	}
	texts.WriteString("</sst>")
	sheetXML := bigSheet(100_000)
	content := workbook(b, sheetXML, map[string]string{
		"xl/sharedStrings.xml": texts.String(),
		"xl/styles.xml":        `<styleSheet><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="4"/></cellXfs></styleSheet>`,
	})
	b.SetBytes(int64(len(sheetXML)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sheet.ReadXLSX(b.Context(), source(content)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkReadXLS(b *testing.B) {
	var rows []byte
	for n := range 60_000 {
		rows = append(rows, record(0x27E, n, 0, 1, uint32(n<<2|2))...)
		rows = append(rows, record(0x203, n, 1, 2, float64(n)*1.37)...)
		rows = append(rows, record(0xFD, n, 2, 0, uint32(n%5))...)
	}
	content := inContainer("Workbook", book8(globals8(), rows))
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sheet.ReadXLS(b.Context(), source(content)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(60_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
