package sheet_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

// check fails on blocks that no reader may give, and on errors of other types than a reader's.
func check(t *testing.T, draft *document.Draft, err error) {
	t.Helper()
	if err != nil {
		var damaged *document.DamagedError
		var limit *document.LimitError
		var encrypted *document.EncryptedError
		var unsupported *document.UnsupportedError
		if !errors.As(err, &damaged) && !errors.As(err, &limit) && !errors.As(err, &encrypted) && !errors.As(err, &unsupported) {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	checkBlocks(t, draft.Blocks)
}

func checkBlocks(t *testing.T, blocks []document.Block) {
	t.Helper()
	for i := range blocks {
		block := &blocks[i]
		if block.Blank() || block.Page < 1 {
			t.Fatalf("block %d of page %d: %q", i, block.Page, block.Markdown())
		}
		for _, row := range append(block.Rows, block.Header) {
			if len(row) != len(block.Header) {
				t.Fatalf("a row of %d cells below a header of %d", len(row), len(block.Header))
			}
			for _, cell := range row {
				if strings.ContainsAny(cell, "\n\r\t\x00") || strings.TrimSpace(cell) != cell || !utf8.ValidString(cell) {
					t.Fatalf("cell %q", cell)
				}
			}
		}
	}
}

// FuzzTables lays out sheets drawn from bytes: no text may get lost.
func FuzzTables(f *testing.F) {
	f.Add([]byte("Name;Count\nApples;3\n\nPears;4"))
	f.Add([]byte(";>A;;>B\nx;y;z;u;v\nq;1;2;3;4\n\n\n1;2"))
	f.Add([]byte("a\nb\nc\nd\ne\nf\n;;2023\nx;;1\n;;" + strings.Repeat(";", 300) + "y|"))
	f.Fuzz(func(t *testing.T, drawn []byte) {
		source := strings.ToValidUTF8(string(drawn), "?")
		tables := sheet.NewTables()
		tables.Begin("S")
		for line := range strings.SplitSeq(source, "\n") {
			cells := strings.Split(line, ";")
			for i, cell := range cells {
				if strings.HasPrefix(cell, ">") {
					tables.Merge(i, 1+len(cell)%4)
				}
			}
			tables.Row(cells)
		}
		blocks := tables.Blocks()
		checkBlocks(t, blocks)
		got := strings.ReplaceAll(render(blocks), `\`, "") // bars are escaped
		for _, cell := range strings.FieldsFunc(source, func(r rune) bool { return r == ';' || r == '\n' }) {
			cell = strings.Map(func(r rune) rune {
				if r < ' ' && r != '\t' && r != '\r' || r == 0x7F {
					return -1
				}
				return r
			}, cell)
			words := strings.Fields(cell)
			if len(words) > 0 && !strings.Contains(got, strings.ReplaceAll(words[0], `\`, "")) {
				t.Fatalf("%q is lost in\n%s", words[0], got)
			}
		}
	})
}

// FuzzReadXLSX reads workbooks whose sheet, shared texts and styles are drawn.
func FuzzReadXLSX(f *testing.F) {
	f.Add(`<worksheet><sheetData><row r="2"><c r="B2" t="s" s="1"><v>0</v></c><c s="1"><f>A1</f><v>45352.5</v></c><c t="d"><v>2024-03-01T13:45:00</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells><hyperlinks><hyperlink ref="A1:ZZ99" r:id="h"/></hyperlinks></worksheet>`,
		`<sst><si><t>x_x0041_</t></si></sst>`, `0.00;[Red]-#,##0.0 "x"`)
	f.Add("<worksheet><sheetData><row><c t='d'><v> 2024\x01-03-01T00:00:00|</v></c></row></sheetData></worksheet>", "", "")
	f.Add(`<worksheet><sheetData><row><c t="inlineStr"><is><t>a</t></is></c><c><v>1e5</v></c></row><row/></sheetData></worksheet>`, "", "yyyy-mm-dd [h]:mm:ss.00 AM/PM")
	f.Fuzz(func(t *testing.T, sheetXML, strings, format string) {
		content := workbook(t, sheetXML, map[string]string{
			"xl/sharedStrings.xml": strings,
			"xl/styles.xml":        fmt.Sprintf(`<styleSheet><numFmts><numFmt numFmtId="200" formatCode="%s"/></numFmts><cellXfs><xf/><xf numFmtId="200"/></cellXfs></styleSheet>`, escape(format)),
			"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships><Relationship Id="h" Type="x/hyperlink" Target="https://example.org/" TargetMode="External"/>
				<Relationship Id="c" Type="x/comments" Target="sheet1.xml"/><Relationship Id="t" Type="x/table" Target="sheet1.xml"/><Relationship Id="d" Type="x/drawing" Target="sheet1.xml"/></Relationships>`,
		})
		draft, err := sheet.ReadXLSX(t.Context(), source(content))
		check(t, draft, err)
	})
}

// FuzzReadXLS reads drawn streams, in a compound file or bare.
func FuzzReadXLS(f *testing.F) {
	entries, err := os.ReadDir(filepath.Join(formats, "xls"))
	if err != nil {
		f.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(formats, "xls", entry.Name()))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add(book8(globals8(), numbers8()))
	f.Add(book(0x500, nil, record(0x204, 0, 0, 0, 5, "alone")))
	f.Fuzz(func(t *testing.T, content []byte) {
		draft, err := sheet.ReadXLS(t.Context(), source(content))
		check(t, draft, err)
	})
}
