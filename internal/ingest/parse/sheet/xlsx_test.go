package sheet_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

func source(content []byte) document.Source {
	limits := document.Limits{}.WithDefaults()
	return document.Source{Name: "book", Content: content, Limits: limits, Budget: document.NewBudget(limits)}
}

// workbook makes an XLSX file of one sheet, whose XML is given, and of more parts.
func workbook(t testing.TB, sheetXML string, parts map[string]string) []byte {
	t.Helper()
	all := map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="r1" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   sheetXML,
	}
	for name, part := range parts {
		all[name] = part
	}
	return pack(t, all)
}

func pack(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, content := range parts {
		if content == "" {
			continue
		}
		part, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cells returns the cells of the only table of a file, the header included, a line for each row.
func cells(t *testing.T, content []byte) string {
	t.Helper()
	draft, err := sheet.ReadXLSX(t.Context(), source(content))
	if err != nil {
		t.Fatal(err)
	}
	return render(draft.Blocks)
}

func TestNumbersAreShownByTheirFormats(t *testing.T) {
	t.Parallel()
	tests := []struct{ format, value, want string }{
		{"General", "0.30000000000000004", "0.3"}, {"General", "42", "42"}, {"General", "1E+2", "100"}, {"General", "-0.5", "-0.5"},
		{"General", "123456789012345", "123456789012345"}, {"General", "1.5E21", "1.5E+21"}, {"General", "0.00001234", "1.234E-05"},
		{"General", "1.10", "1.1"}, {"General", "007", "7"}, {"General", "-0", "0"}, {"General", "99999999999999.99", "100000000000000"},
		{"General", "0.1234567890123456", "0.123456789012346"}, {"General", "not a number", "not a number"}, {"", "1.25", "1.25"},
		{"STANDARD", "5", "5"}, {"@", "0.1", "0.1"},
		{"0", "2.5", "3"}, {"0.00", "1.005", "1.01"}, {"0.00", "-0.001", "0.00"}, {"0.00", "999.999", "1000.00"}, {"0.0##", "2.5", "2.5"},
		{"#,##0", "1234567.8", "1,234,568"}, {"#,##0.00", "-1234.5", "-1,234.50"}, {"#,##0", "999", "999"}, {"000", "5", "005"},
		{"0,000", "5", "0,005"}, {"#.##", "0.5", ".5"}, {".00", "12.345", "12.35"}, {"#", "0", ""}, {"0.#", "5", "5"},
		{"0%", "0.256", "26%"}, {"0.0%", "0.2567", "25.7%"}, {"#,##0,", "1234567", "1,235"}, {`0.0,,"M"`, "12345678", "12.3M"},
		{"0.00E+00", "123456", "1.23E+05"}, {"0.0E+0", "0.00099", "9.9E-4"}, {"0.0E+0", "99.99", "1.0E+2"}, {"##0.0E+0", "123456", "123.5E+3"}, {"0.00E+00", "0", "0.00E+00"},
		{"$#,##0.00", "-5", "-$5.00"}, {"[$€-407] #,##0.00", "5", "€ 5.00"}, {"#,##0.00 [$kr-41D]", "5", "5.00 kr"}, {`0 "kg"`, "5", "5 kg"}, {`0\ \x`, "5", "5 x"},
		{"0 Euro", "5", "5 Euro"}, {`(#,##0);[Red]\(#,##0\)`, "-5", "(5)"}, {`_-* #,##0.00\ "€"_-;-* #,##0.00\ "€"_-;_-* "-"??\ "€"_-;_-@_-`, "0", "- €"},
		{"0;-0;;@", "0", ""}, {`"yes";"no";"none"`, "-3", "no"}, {`"yes";"no";"none"`, "0", "none"}, {"[<100]0.0;0", "99.95", "100.0"}, {"[<100]0.0;0", "250.4", "250"},
		{`[=1]"one";[=2]"two";General`, "2", "two"}, {`[=1]"one";[=2]"two";General`, "3", "3"}, {"[>=0.5]0%;0.000", "0.25", "0.250"},
		{"000-00-0000", "123456789", "123-45-6789"}, {"(###) ###-####", "5551234567", "(555) 123-4567"}, {"# ?/?", "0.75", "0.75"}, {"0.0x;(0.0x)", "-2", "(2.0x)"},
		{"yyyy-mm-dd", "45352", "2024-03-01"}, {"dd.mm.yyyy hh:mm", "45352.572916666664", "2024-03-01 13:45"}, {"m/d/yy h:mm:ss AM/PM", "45352.57291666", "2024-03-01 13:45:00"},
		{"mmm yy", "45352", "2024-03"}, {"yyyy", "45352", "2024"}, {"dddd", "45352", "2024-03-01"}, {"h:mm", "0.572916666666667", "13:45"}, {"mm:ss", "0.0123", "00:17:43"},
		{"[h]:mm", "1.5", "36:00"}, {"[h]:mm:ss", "-0.25", "-06:00:00"}, {"[mm]:ss", "0.5", "720:00"}, {"[ss].00", "0.5", "43200.00"}, {"mm:ss.0", "0.0123", "00:17:42.7"},
		{"yyyy-mm-dd", "60", "1900-02-29"}, {"yyyy-mm-dd", "59", "1900-02-28"}, {"yyyy-mm-dd", "61", "1900-03-01"}, {"yyyy-mm-dd", "1", "1900-01-01"}, {"yyyy-mm-dd", "0", "0"},
		{"yyyy-mm-dd hh:mm", "0.5", "12:00"}, {"yyyy-mm-dd", "-5", "-5"}, {"yyyy-mm-dd", "2958465", "9999-12-31"}, {"yyyy-mm-dd", "2958466", "2958466"},
		{"yyyy-mm-dd hh:mm:ss", "45351.99999999", "2024-03-01 00:00:00"}, {`yyyy"年"m"月"d"日"`, "45352", "2024-03-01"}, {"[$-409]d-mmm;@", "45352", "2024-03-01"}, {"mmmmm", "45352", "2024-03"},
		{"h \"o'clock\"", "0.5", "12:00"}, {"0 h", "5", "5 h"}, {"e", "45352", "2024"}, {"[Color5]0.0", "1", "1.0"}, {"\"unclosed", "1", "unclosed"}, {"[unclosed", "1", ""}, {"0[", "1", "1"}, {`0"`, "1", "1"}, {"0_", "1", "1"}, {"0[$", "1", "1"},
		{"0/0/0", "1", "1"}, {"\\", "1", ""}, {strings.Repeat("0", 2000), "1", "1"},
	}
	var styles, rows strings.Builder
	styles.WriteString("<styleSheet><numFmts>")
	for i, test := range tests {
		fmt.Fprintf(&styles, `<numFmt numFmtId="%d" formatCode="%s"/>`, 200+i, escape(test.format))
	}
	styles.WriteString("</numFmts><cellStyleXfs><xf numFmtId='14'/></cellStyleXfs><cellXfs>")
	for i, test := range tests {
		fmt.Fprintf(&styles, `<xf numFmtId="%d"/>`, 200+i)
		fmt.Fprintf(&rows, `<row r="%d"><c r="A%d" t="inlineStr"><is><t>x</t></is></c><c r="B%d" s="%d"><v>%s</v></c></row>`, i+1, i+1, i+1, i, test.value)
	}
	styles.WriteString("</cellXfs></styleSheet>")
	content := workbook(t, `<worksheet><sheetData><row><c t="inlineStr"><is><t>H</t></is></c><c t="inlineStr"><is><t>V</t></is></c></row>`+
		strings.ReplaceAll(rows.String(), `<row r="`, `<row x="`)+`</sheetData></worksheet>`, map[string]string{"xl/styles.xml": styles.String()})
	got := strings.Split(cells(t, content), "\n")[2:]
	for i, test := range tests {
		if want := "| x | " + test.want + " |"; got[i] != want {
			t.Errorf("%s by %.40q: %s, want %s", test.value, test.format, got[i], want)
		}
	}
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func TestDatesCountFrom1904WhereTheWorkbookSaysSo(t *testing.T) {
	t.Parallel()
	row := `<worksheet><sheetData><row><c s="1"><v>0</v></c><c s="1"><v>43890</v></c><c s="2"><v>1.25</v></c></row></sheetData></worksheet>`
	content := workbook(t, row, map[string]string{
		"xl/workbook.xml": `<workbook><workbookPr date1904="true"/><sheets><sheet name="S"/></sheets></workbook>`,
		"xl/styles.xml":   `<styleSheet><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
	})
	if got := cells(t, content); !strings.HasPrefix(got, "| 1904-01-01 | 2024-03-01 | 1904-01-02 06:00 |") {
		t.Error(got)
	}
}

func TestCellsOfAllTypes(t *testing.T) {
	t.Parallel()
	sheetXML := `<x:worksheet xmlns:x="n"><x:sheetData>
		<x:row r="2"><x:c r="B2" t="s"><x:v>0</x:v></x:c><x:c r="C2" t="s"><x:v> 1 </x:v></x:c><x:c r="D2" t="str"><x:f>A1&amp;"x"</x:f><x:v>form_x0041_la</x:v></x:c></x:row>
		<x:row r="3"><x:c r="C3" t="b"><x:v>1</x:v></x:c><x:c r="B3" t="b"><x:v>0</x:v></x:c><x:c r="D3" t="e"><x:v>#DIV/0!</x:v></x:c></x:row>
		<x:row r="4"><x:c r="B4" t="d"><x:v>2024-03-01T00:00:00</x:v></x:c><x:c t="d"><x:v>2024-03-01T13:45:00.000Z</x:v></x:c><x:c t="n"><x:v>7</x:v></x:c></x:row>
		<x:row r="5"><x:c r="B5" t="inlineStr"><x:is><x:r><x:t>in</x:t></x:r><x:r><x:t xml:space="preserve">line </x:t></x:r></x:is></x:c><x:c t="s"><x:v>99</x:v></x:c><x:c><x:f>NOW()</x:f></x:c></x:row>
		<x:row/><x:row><x:c r="C6"><x:v>1</x:v></x:c><x:c r="C6"><x:v>2</x:v></x:c><x:c r="B2"><x:v>3</x:v></x:c></x:row>
	</x:sheetData></x:worksheet>`
	content := workbook(t, sheetXML, map[string]string{"xl/sharedStrings.xml": `<sst count="9" uniqueCount="9999999"><si><t>plain | text</t></si>
		<si><r><rPr><b/></rPr><t>東京</t></r><r><t xml:space="preserve"> Tower_x000D_
</t></r><rPh sb="0" eb="2"><t>トウキョウ</t></rPh><phoneticPr fontId="1"/></si></sst>`})
	want := `| plain \| text | 東京 Tower | formAla |
| --- | --- | --- |
| FALSE | TRUE | #DIV/0! |
| 2024-03-01 | 2024-03-01 13:45 | 7 |
| inline |  |  |
| 3 | 2 |  |`
	if got := cells(t, content); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestWhatStandsAroundTheCells(t *testing.T) {
	t.Parallel()
	sheetXML := `<worksheet xmlns:r="r"><sheetData>
		<row><c t="inlineStr"><is><t>Q</t></is></c><c/><c t="inlineStr"><is><t>E</t></is></c></row>
		<row><c t="inlineStr"><is><t>site</t></is></c><c><v>1</v></c><c t="inlineStr"><is><t>e</t></is></c></row>
		<row><c t="str"><f>HYPERLINK("https://example.org/x","y")</f><v>f[1]</v></c><c><v>2</v></c><c t="inlineStr"><is><t>inside</t></is></c></row>
		</sheetData><hyperlinks><hyperlink ref="A2:B2" r:id="h1" location="part"/><hyperlink ref="C3" location="S!A1"/><hyperlink ref="C2" r:id="h2"/></hyperlinks></worksheet>`
	content := workbook(t, sheetXML, map[string]string{
		"xl/worksheets/_rels/sheet1.xml.rels": `<Relationships>
			<Relationship Id="h1" Type="http://x/hyperlink" Target="https://example.org/a (b)" TargetMode="External"/>
			<Relationship Id="h2" Type="http://x/hyperlink" Target="file:///etc/passwd" TargetMode="External"/>
			<Relationship Id="t" Type="http://x/table" Target="../tables/table1.xml"/>
			<Relationship Id="c" Type="http://x/comments" Target="../comments1.xml"/>
			<Relationship Id="tc" Type="http://x/threadedComment" Target="../threaded1.xml"/>
			<Relationship Id="d" Type="http://x/drawing" Target="../drawings/drawing1.xml"/></Relationships>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="worksheets/sheet1.xml"/>
			<Relationship Id="p" Type="http://x/person" Target="persons/person.xml"/></Relationships>`,
		"xl/persons/person.xml": `<personList><person displayName="Cleo" id="{1}"/></personList>`,
		"xl/tables/table1.xml":  `<table ref="A2:B3" headerRowCount="0"><tableColumns><tableColumn name="Address"/><tableColumn name="Rank"/></tableColumns></table>`,
		"xl/comments1.xml": `<comments><authors><author>Anna</author><author>tc={1}</author></authors><commentList>
			<comment ref="B3" authorId="0"><text><r><t>Anna:</t></r><r><t xml:space="preserve">
look here</t></r></text></comment><comment ref="A1" authorId="1"><text><t>[Threaded comment] old</t></text></comment></commentList></comments>`,
		"xl/threaded1.xml": `<ThreadedComments><threadedComment ref="A1" personId="{1}" id="{a}"><text>why?</text></threadedComment>
			<threadedComment ref="A1" personId="{2}" id="{b}" parentId="{a}"><text>because</text></threadedComment></ThreadedComments>`,
		"xl/drawings/drawing1.xml": `<wsDr xmlns:a="a" xmlns:mc="mc"><sp><nvSpPr><cNvPr name="Box 1" descr=""/></nvSpPr><txBody><a:p><a:r><a:t>A </a:t></a:r><a:r><a:t>box</a:t></a:r></a:p><a:p><a:r><a:t>of text</a:t></a:r></a:p></txBody></sp>
			<mc:AlternateContent><mc:Choice><sp><txBody><a:p><a:fld><a:t>once</a:t></a:fld></a:p></txBody></sp></mc:Choice><mc:Fallback><sp><txBody><a:p><a:r><a:t>once</a:t></a:r></a:p></txBody></sp></mc:Fallback></mc:AlternateContent>
			<pic><nvPicPr><cNvPr name="Picture 2" descr="A map"/></nvPicPr></pic></wsDr>`,
	})
	want := `| Q | E |
| --- | --- |
|  | e |
|  | inside |

| Address | Rank |
| --- | --- |
| [site](https://example.org/a%20%28b%29#part) | [1](https://example.org/a%20%28b%29#part) |
| [f\[1\]](https://example.org/x) | 2 |

> A1 (Cleo): why?

> A1: because

> B3 (Anna): look here

A box
of text

once

A map`
	if got := cells(t, content); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestDamageIsNamedAndWhatIsLeftIsRead(t *testing.T) {
	t.Parallel()
	rows := `<worksheet><sheetData><row><c t="s"><v>0</v></c><c><v>5</v></c></row><row><c><v>6</v>`
	content := workbook(t, rows, map[string]string{
		"xl/workbook.xml": `<workbook><sheets><sheet name="S"/><sheet name="Gone"/></sheets></workbook>`,
	})
	draft, err := sheet.ReadXLSX(t.Context(), source(content))
	if err != nil {
		t.Fatal(err)
	}
	if got := render(draft.Blocks); got != "5" || draft.Pages != 2 || draft.Extra["damaged"] != "a part of its texts is missing; a part of sheet 1 is missing; a part of sheet 2 is missing" {
		t.Errorf("%s, %d pages, %v", got, draft.Pages, draft.Extra)
	}
	var damaged *document.DamagedError
	for name, content := range map[string][]byte{
		"nothing":         nil,
		"no zip":          []byte("PK\x03\x04 and no more"),
		"no main part":    pack(t, map[string]string{"a.xml": "<a/>"}),
		"no workbook":     pack(t, map[string]string{"xl/workbook.xml": "<a/>"}),
		"no XML":          pack(t, map[string]string{"xl/workbook.xml": "<workbook><sheets>", "xl/worksheets/sheet1.xml": "x"}),
		"no text at all":  workbook(t, "<worksheet><sheetData><row><c>", nil),
		"no sheet at all": workbook(t, "", nil),
	} {
		if draft, err := sheet.ReadXLSX(t.Context(), source(content)); !errors.As(err, &damaged) {
			t.Errorf("%s: %v, %v", name, draft, err)
		}
	}
}

func TestAnEmptyWorkbookHasNoBlocks(t *testing.T) {
	t.Parallel()
	draft, err := sheet.ReadXLSX(t.Context(), source(workbook(t, `<worksheet><sheetData><row><c s="1"/></row></sheetData></worksheet>`, nil)))
	if err != nil || len(draft.Blocks) != 0 || draft.Pages != 1 {
		t.Errorf("%v, %v", draft, err)
	}
}

func TestOtherSheetsThanThoseOfCellsAreLeftOut(t *testing.T) {
	t.Parallel()
	content := workbook(t, `<worksheet><sheetData><row><c><v>5</v></c></row></sheetData></worksheet>`, map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="Chart" r:id="r2"/><sheet name="S" state="veryHidden" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="/xl/worksheets/sheet1.xml"/><Relationship Id="r2" Type="http://x/chartsheet" Target="chartsheets/sheet1.xml"/></Relationships>`,
		"xl/chartsheets/sheet1.xml":  `<chartsheet/>`,
	})
	draft, err := sheet.ReadXLSX(t.Context(), source(content))
	if err != nil || render(draft.Blocks) != "5" || draft.Pages != 1 || draft.Blocks[0].Page != 1 {
		t.Errorf("%v, %v", draft, err)
	}
	binary := pack(t, map[string]string{"_rels/.rels": `<Relationships><Relationship Id="r1" Type="http://x/officeDocument" Target="xl/workbook.bin"/></Relationships>`, "xl/workbook.bin": "x"})
	var unsupported *document.UnsupportedError
	if _, err := sheet.ReadXLSX(t.Context(), source(binary)); !errors.As(err, &unsupported) {
		t.Error(err)
	}
}

func TestLimitsOfWorkbooks(t *testing.T) {
	t.Parallel()
	cell := `<c><v>1</v></c>`
	repeated := func(xml string, n int) string {
		return "<worksheet><sheetData>" + strings.Repeat(xml, n) + "</sheetData></worksheet>"
	}
	var limit *document.LimitError
	for name, content := range map[string][]byte{
		"cells":   workbook(t, repeated("<row>"+strings.Repeat(cell, 1000)+"</row>", 2200), nil),
		"columns": workbook(t, repeated("<row>"+strings.Repeat(cell, 70_000)+"</row>", 1), nil),
		"text":    workbook(t, repeated(`<row><c t="s"><v>0</v></c></row>`, 2000), map[string]string{"xl/sharedStrings.xml": "<sst><si><t>" + strings.Repeat("long text ", 10_000) + "</t></si></sst>"}),
		"bomb":    workbook(t, repeated(strings.Repeat(" ", 1<<20), 64), nil),
	} {
		in := source(content)
		if name != "bomb" {
			in.Limits.MaxRatio = 1 << 20
			in.Budget = document.NewBudget(in.Limits)
		}
		if _, err := sheet.ReadXLSX(t.Context(), in); !errors.As(err, &limit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sheet.ReadXLSX(ctx, source(workbook(t, `<worksheet><sheetData><row><c><v>5</v></c></row></sheetData></worksheet>`, nil))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := sheet.ReadXLS(ctx, source(book8(globals8(), numbers8()))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
