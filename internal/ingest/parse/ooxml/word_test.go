package ooxml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
)

func wordParagraph(text string) string { return "<w:p>" + wordRun(text) + "</w:p>" }

func wordRun(text string) string { return `<w:r><w:t xml:space="preserve">` + text + "</w:t></w:r>" }

// styled is a paragraph with properties.
func styled(properties, runs string) string {
	return "<w:p><w:pPr>" + properties + "</w:pPr>" + runs + "</w:p>"
}

func inStyle(style, text string) string {
	return styled(`<w:pStyle w:val="`+style+`"/>`, wordRun(text))
}

const wordStyles = `<w:styles><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own chapter"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/><w:basedOn w:val="berschrift1"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Round"><w:name w:val="Round"/><w:basedOn w:val="About"/></w:style><w:style w:type="paragraph" w:styleId="About"><w:name w:val="About"/><w:basedOn w:val="Round"/></w:style>
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="LOHeading"><w:name w:val="Überschrift 3"/></w:style>
<w:style w:type="paragraph" w:styleId="Pre"><w:name w:val="HTML Preformatted"/></w:style>
<w:style w:type="paragraph" w:styleId="Console"><w:name w:val="Console"/><w:rPr><w:rFonts w:ascii="Courier New"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Q"><w:name w:val="Quote"/></w:style>
<w:style w:type="paragraph" w:styleId="Gone"><w:name w:val="Gone"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Numbered"><w:name w:val="Numbered"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:pPr><w:numPr><w:numId w:val="5"/></w:numPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="LB2"><w:name w:val="List Bullet 2"/></w:style>
<w:style w:type="character" w:styleId="Strong"><w:name w:val="Strong"/><w:rPr><w:b/></w:rPr></w:style>
<w:style w:type="character" w:styleId="VerbatimChar"><w:name w:val="Verbatim Char"/><w:rPr><w:rFonts w:ascii="Consolas"/></w:rPr></w:style></w:styles>`

const wordNumbering = `<w:numbering><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%2)"/></w:lvl><w:lvl w:ilvl="2"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2.%3"/><w:isLgl/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="upperLetter"/><w:pStyle w:val="Clause"/><w:lvlText w:val="Clause %1"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="99"/><w:lvlOverride w:ilvl="x"><w:startOverride w:val="-"/></w:lvlOverride></w:num><w:num w:numId="5"><w:abstractNumId w:val="2"/></w:num></w:numbering>`

// wordParts are the parts of a document with that body.
func wordParts(body string) map[string]string {
	return map[string]string{
		"_rels/.rels":         relationships("officeDocument", "word/document.xml"),
		"word/document.xml":   `<w:document><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml":     wordStyles,
		"word/numbering.xml":  wordNumbering,
		"word/footnotes.xml":  `<w:footnotes><w:footnote w:type="separator" w:id="0">` + wordParagraph("---") + `</w:footnote><w:footnote w:id="1">` + wordParagraph("First note.") + wordParagraph("More of it.") + `</w:footnote><w:footnote w:id="2">` + wordParagraph("Second note.") + `</w:footnote></w:footnotes>`,
		"word/endnotes.xml":   `<w:endnotes><w:endnote w:id="1">` + wordParagraph("At the end.") + `</w:endnote></w:endnotes>`,
		"word/comments.xml":   `<w:comments><w:comment w:id="1" w:author=" Ada  L. ">` + wordParagraph("Really?") + `</w:comment></w:comments>`,
		"word/header1.xml":    `<w:hdr>` + wordParagraph("Head") + `<w:p>` + wordRun("Seite ") + `<w:fldSimple w:instr="PAGE">` + wordRun("4") + `</w:fldSimple></w:p></w:hdr>`,
		"word/header2.xml":    `<w:hdr>` + wordParagraph("HEAD") + `</w:hdr>`,
		"word/charts/c.xml":   `<c:chartSpace><c:chart><c:plotArea><c:ser><c:tx><c:v>Sold</c:v></c:tx><c:cat><c:pt idx="0"><c:v>May</c:v></c:pt></c:cat><c:val><c:pt idx="0"><c:v>5</c:v></c:pt><c:pt idx="99999999"><c:v>9</c:v></c:pt></c:val></c:ser></c:plotArea></c:chart></c:chartSpace>`,
		"word/part.html":      "<p>inserted</p>",
		"word/part.bin":       "\x00",
		"docProps/core.xml":   `<cp:coreProperties><dc:title>In the properties</dc:title></cp:coreProperties>`,
		"word/media/logo.png": "\x89PNG",
		"word/_rels/document.xml.rels": relationships("hyperlink", "https://example.org/a (b)", "hyperlink", "file:///c:/x.doc", "header", "header1.xml",
			"header", "header2.xml", "chart", "charts/c.xml", "aFChunk", "part.html", "aFChunk", "part.bin", "header", "nowhere.xml"),
	}
}

func TestWordMarkdown(t *testing.T) {
	t.Parallel()
	const mc = `<mc:AlternateContent><mc:Choice Requires="wps">%C</mc:Choice><mc:Fallback>%F</mc:Fallback></mc:AlternateContent>`
	alternate := func(choice, fallback string) string {
		return strings.NewReplacer("%C", choice, "%F", fallback).Replace(mc)
	}
	box := func(text string) string { return "<w:txbxContent>" + wordParagraph(text) + "</w:txbxContent>" }
	item := func(list, level, text string) string {
		return styled(`<w:numPr><w:ilvl w:val="`+level+`"/><w:numId w:val="`+list+`"/></w:numPr>`, wordRun(text))
	}
	field := func(code, result string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>` + code + `</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` +
			result + `<w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	bold := func(text string) string { return `<w:r><w:rPr><w:b/></w:rPr><w:t>` + text + `</w:t></w:r>` }
	cell := func(properties, text string) string {
		return "<w:tc><w:tcPr>" + properties + "</w:tcPr>" + wordParagraph(text) + "</w:tc>"
	}
	row := func(cells ...string) string { return "<w:tr>" + strings.Join(cells, "") + "</w:tr>" }
	for name, c := range map[string]struct{ body, want string }{
		"runs are joined":     {"<w:p>" + wordRun("Wo") + wordRun("rd") + "<w:r><w:tab/><w:t>x</w:t><w:br/><w:t>next&#160;line</w:t></w:r></w:p>", "Word x\nnext line"},
		"characters":          {"<w:p>" + wordRun("co&#173;op\u200b, a") + "<w:r><w:noBreakHyphen/></w:r>" + wordRun("b \uF0B7 c") + `<w:r><w:sym w:font="Wingdings" w:char="F0FC"/></w:r></w:p>`, "coop, a-b • c✓"},
		"bold and italic":     {"<w:p>" + bold("All ") + bold("of it") + wordRun(" and ") + `<w:r><w:rPr><w:i w:val="1"/><w:b w:val="0"/></w:rPr><w:t>this</w:t></w:r>` + wordRun(".") + "</w:p>", "**All of it** and *this*."},
		"no part of a word":   {"<w:p>" + bold("un") + wordRun("kind") + bold(" ") + bold("2*3") + "</w:p>", "unkind 2*3"},
		"character styles":    {`<w:p><w:r><w:rPr><w:rStyle w:val="Strong"/></w:rPr><w:t>so</w:t></w:r>` + wordRun(" ") + `<w:r><w:rPr><w:rStyle w:val="VerbatimChar"/></w:rPr><w:t>ls -l</w:t></w:r></w:p>`, "**so** `ls -l`"},
		"headings":            {inStyle("berschrift1", "One") + inStyle("Own", "Two") + inStyle("LOHeading", "Three") + styled(`<w:outlineLvl w:val="3"/>`, wordRun("Four")) + inStyle("Heading5", "Five") + inStyle("Round", "text"), "# One\n\n## Two\n\n### Three\n\n#### Four\n\n##### Five\n\ntext"},
		"title and numbers":   {inStyle("T", "Whole") + inStyle("Clause", "Rent") + inStyle("Clause", "Keys"), "# Whole\n\n### Clause C Rent\n\n### Clause D Keys"},
		"no heading":          {inStyle("berschrift1", " ") + inStyle("berschrift1", strings.Repeat("long ", 300)), strings.TrimSpace(strings.Repeat("long ", 300))},
		"lists":               {item("1", "0", "a") + item("1", "1", "b") + item("1", "1", "c") + item("1", "2", "d") + item("1", "0", "e") + wordParagraph("between") + item("1", "0", "f") + item("3", "0", "g") + item("2", "0", "h"), "1. a\n   - i) b\n   - ii) c\n     - 1.2.1 d\n2. e\n\nbetween\n\n3. f\n7. g\n\n- h"},
		"list by style":       {inStyle("Numbered", "a") + inStyle("Numbered", "b") + inStyle("LB2", "c"), "1. a\n2. b\n   - c"},
		"corrupt lists":       {item("4", "0", "a") + item("77", "x", "b") + styled(`<w:pStyle w:val="Numbered"/><w:numPr><w:numId w:val="0"/></w:numPr>`, wordRun("c")), "a\n\nb\n\nc"},
		"code":                {inStyle("Pre", "if x {") + inStyle("Pre", "\ty") + inStyle("Pre", "") + inStyle("Pre", "}") + wordParagraph("then") + inStyle("Console", "$ ls"), "```\nif x {\n\ty\n\n}\n```\n\nthen\n\n```\n$ ls\n```"},
		"quotation":           {inStyle("Q", "one") + inStyle("Q", "two") + wordParagraph("x"), "> one\n> \n> two\n\nx"},
		"links":               {`<w:p><w:hyperlink r:id="r1">` + wordRun("out") + `</w:hyperlink> <w:hyperlink r:id="r2">` + wordRun(" file") + `</w:hyperlink><w:hyperlink w:anchor="x">` + wordRun(" inside") + `</w:hyperlink></w:p>`, "[out](https://example.org/a%20%28b%29) file inside"},
		"link fields":         {"<w:p>" + field(` HYPERLINK "https://example.org/" \l "top" `, wordRun("there")) + wordRun(", ") + field("REF x \\h", wordRun("chapter 2")) + "</w:p>", "[there](https://example.org/), chapter 2"},
		"field in a code":     {"<w:p>" + `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r>` + field("MERGEFIELD a", wordRun("unseen")) + `<w:r><w:fldChar w:fldCharType="separate"/></w:r>` + wordRun("seen") + `<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, "seen"},
		"field without end":   {`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>` + wordParagraph("after"), "after"},
		"link without end":    {`<w:p><w:fldSimple w:instr="HYPERLINK https://example.org">` + wordRun("x") + `</w:fldSimple><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK "https://example.org/y"</w:instrText><w:fldChar w:fldCharType="separate"/></w:r>` + wordRun(" y") + "</w:p>" + wordParagraph("after"), "[x](https://example.org) [y](https://example.org/y)\n\nafter"},
		"button":              {"<w:p>" + `<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>MACROBUTTON NoMacro Type here</w:instrText><w:fldChar w:fldCharType="end"/></w:r></w:p>`, "Type here"},
		"changes":             {`<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom>` + wordRun("gone") + `</w:moveFrom><w:moveTo>` + wordRun(" come") + "</w:moveTo></w:p>", "new come"},
		"changed properties":  {`<w:p><w:pPr><w:pPrChange><w:pPr><w:pStyle w:val="berschrift1"/></w:pPr></w:pPrChange></w:pPr><w:r><w:rPr><w:rPrChange><w:rPr><w:b/><w:vanish/></w:rPr></w:rPrChange></w:rPr><w:t>plain</w:t></w:r></w:p>`, "plain"},
		"end deleted":         {styled(`<w:rPr><w:del w:id="1"/></w:rPr>`, wordRun("one ")) + inStyle("berschrift1", "two") + styled(`<w:rPr><w:del/></w:rPr>`, wordRun("last")), "# one two\n\nlast"},
		"initial":             {styled(`<w:framePr w:dropCap="drop"/>`, wordRun("O")) + wordParagraph("nce upon a time"), "Once upon a time"},
		"hidden":              {`<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>unseen</w:t></w:r>` + wordRun("seen") + "</w:p>" + inStyle("Gone", "unseen"), "seen"},
		"notes":               {`<w:p>` + wordRun("a") + `<w:r><w:footnoteReference w:id="2"/></w:r>` + wordRun(" b") + `<w:r><w:footnoteReference w:id="1"/></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:footnoteReference w:id="9"/></w:r><w:r><w:endnoteReference w:id="1"/></w:r></w:p>` + styled(`<w:outlineLvl w:val="0"/>`, wordRun("H")+`<w:r><w:endnoteReference w:id="1"/></w:r>`) + wordParagraph("z"), "a[1] b[2][1][i]\n\n- [1] Second note.\n- [2] First note.\nMore of it.\n- [i] At the end.\n\n# H\n\nz"},
		"comments":            {item("2", "0", "a") + strings.Replace(item("2", "0", "b"), "</w:p>", `<w:r><w:commentReference w:id="1"/></w:r></w:p>`, 1) + item("2", "0", "c") + wordParagraph("x"), "- a\n- b\n- c\n\n> Ada L.: Really?\n\nx"},
		"text box once":       {"<w:p>" + wordRun("a") + "<w:r>" + alternate(box("boxed"), box("boxed")) + "</w:r>" + wordRun("b") + "</w:p>", "ab\n\nboxed"},
		"choice without text": {"<w:p><w:r>" + alternate("<w:drawing/>", box("old box")) + "</w:r></w:p>", "old box"},
		"choice in choice":    {"<w:p><w:r>" + alternate(alternate("", "")+box("a"), box("b")) + alternate("", box("c")) + "</w:r></w:p>", "a\n\nc"},
		"content controls":    {`<w:sdt><w:sdtPr><w:rPr><w:vanish/></w:rPr></w:sdtPr><w:sdtContent>` + wordParagraph("in") + `</w:sdtContent></w:sdt><w:p><w:smartTag><w:sdt><w:sdtContent>` + wordRun("line") + `</w:sdtContent></w:sdt></w:smartTag></w:p>`, "in\n\nline"},
		"contents":            {`<w:sdt><w:sdtPr><w:docPartGallery w:val="Table of Contents"/></w:sdtPr><w:sdtContent>` + wordParagraph("Contents") + inStyle("TOC1", "1. One . . . 7") + `</w:sdtContent></w:sdt>` + inStyle("TOC1", "Elsewhere 9") + inStyle("berschrift1", "One"), "Elsewhere 9\n\n# One"},
		"check box":           {`<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox></w:ffData></w:fldChar><w:instrText>FORMCHECKBOX</w:instrText><w:fldChar w:fldCharType="separate"/><w:fldChar w:fldCharType="end"/></w:r>` + wordRun(" done") + "</w:p>", "☐ done"},
		"choice of a form":    {`<w:p><w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList></w:ffData></w:fldChar><w:fldChar w:fldCharType="end"/></w:r></w:p>`, "blue"},
		"picture":             {`<w:p><w:r><w:drawing><wp:inline><wp:docPr descr="A mill. Description automatically generated"/></wp:inline><wp:inline><wp:docPr descr="C:\x\y.png"/></wp:inline></w:drawing></w:r></w:p>`, "A mill."},
		"chart":               {`<w:p><w:r><w:drawing><c:chart r:id="r5"/></w:drawing></w:r>` + wordRun("above") + "</w:p>", "above\n\n|  | Sold |\n| --- | --- |\n| May | 5 |"},
		"inserted files":      {wordParagraph("a") + `<w:altChunk r:id="r6"/><w:altChunk r:id="r7"/>` + wordParagraph("b"), "a\n\npart.html: <p>inserted</p>\n\nb"},
		"headers":             {wordParagraph("a") + `<w:sectPr><w:headerReference r:id="r3"/><w:headerReference r:id="r4"/><w:headerReference r:id="r3"/></w:sectPr>`, "a\n\nHead"},
		"ruby":                {"<w:p><w:r><w:ruby><w:rt>" + wordRun("かな") + "</w:rt><w:rubyBase>" + wordRun("漢字") + "</w:rubyBase></w:ruby></w:r></w:p>", "漢字"},
		"formula":             {`<w:p><m:oMath><m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e><m:r><m:t>x</m:t></m:r></m:e></m:d><m:sSubSup><m:e><m:r><m:t>y</m:t></m:r></m:e><m:sub><m:r><m:t>i+1</m:t></m:r></m:sub><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSubSup><m:rad><m:deg><m:r><m:t>3</m:t></m:r></m:deg><m:e><m:r><m:t>z</m:t></m:r></m:e></m:rad></m:oMath></w:p>`, "[x]y_(i+1)^2 3√(z)"},
		"table":               {"<w:tbl>" + row(cell("", "A"), cell(`<w:gridSpan w:val="2"/>`, "B")) + row(cell("", "1"), cell("", "2|2"), cell("", "3")) + "</w:tbl>", "| A | B | B |\n| --- | --- | --- |\n| 1 | 2\\|2 | 3 |"},
		"merged cells":        {"<w:tbl>" + row(cell("", "A"), cell("", "B")) + row(cell(`<w:vMerge w:val="restart"/>`, "x"), cell("", "1")) + row(cell("<w:vMerge/>", ""), cell("", "2")) + "<w:tr><w:trPr><w:gridBefore w:val=\"1\"/></w:trPr>" + cell("", "3") + "</w:tr></w:tbl>", "| A | B |\n| --- | --- |\n| x | 1 |\n| x | 2 |\n|  | 3 |"},
		"rows of the header":  {"<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>" + cell("", "A") + cell(`<w:gridSpan w:val="2"/>`, "Year") + "</w:tr><w:tr><w:trPr><w:tblHeader/></w:trPr>" + cell("", "") + cell("", "1") + cell("", "2") + "</w:tr>" + row(cell("", "x"), cell("", "y"), cell("", "z")) + "</w:tbl>", "| A | Year 1 | Year 2 |\n| --- | --- | --- |\n| x | y | z |"},
		"line above a table":  {"<w:tbl>" + row(cell(`<w:gridSpan w:val="2"/>`, "Prices")) + row(cell("", "A"), cell("", "B")) + row(cell("", ""), cell("", "")) + row(cell("", "1"), cell("", "2")) + "</w:tbl>", "Prices\n\n| A | B |\n| --- | --- |\n| 1 | 2 |"},
		"table in a table":    {"<w:tbl>" + row(cell("", "A"), cell("", "B")) + row(cell("", "x"), "<w:tc><w:tbl>"+row(cell("", "1"), cell("", "2"))+row(cell("", "3"), cell("", "4"))+"</w:tbl>"+wordParagraph("")+"</w:tc>") + "</w:tbl>", "| A | B |\n| --- | --- |\n| x | 1, 2; 3, 4 |"},
		"table for layout":    {"<w:tbl>" + row("<w:tc>"+inStyle("berschrift1", "Left")+wordParagraph("l")+"</w:tc>", cell("", "r")) + "</w:tbl><w:tbl>" + row(cell("", "alone")) + "</w:tbl>", "# Left\n\nl\n\nr\n\nalone"},
		"headings of columns": {"<w:tbl>" + row("<w:tc>"+inStyle("berschrift1", "A")+"</w:tc>", "<w:tc>"+inStyle("berschrift1", "B")+"</w:tc>") + row("<w:tc>"+inStyle("Pre", "ls")+"</w:tc>", cell("", "lists")) + "</w:tbl>", "| A | B |\n| --- | --- |\n| `ls` | lists |"},
		"code in a table":     {"<w:tbl>" + row(cell("", "A"), cell("", "B")) + row("<w:tc>"+inStyle("Pre", "one")+inStyle("Pre", "two")+"</w:tc>", cell("", "x")) + "</w:tbl>", "A\n\nB\n\n```\none\ntwo\n```\n\nx"},
		"deleted row":         {"<w:tbl>" + row(cell("", "A"), cell("", "B")) + "<w:tr><w:trPr><w:del/></w:trPr>" + cell("", "x") + cell("", "y") + "</w:tr></w:tbl>", "| A | B |\n| --- | --- |"},
		"list in a cell":      {"<w:tbl>" + row(cell("", "A"), cell("", "B")) + row("<w:tc>"+item("2", "0", "x")+item("2", "0", "y")+"</w:tc>", "<w:tc>"+wordParagraph("1")+wordParagraph("2")+"</w:tc>") + "</w:tbl>", "| A | B |\n| --- | --- |\n| - x - y | 1 2 |"},
		"foreign prefixes":    {`<ns0:p xmlns:ns0="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><ns0:r><ns0:t>under another name</ns0:t></ns0:r></ns0:p>`, "under another name"},
		"other vocabularies":  {`<w:p><x:t>no</x:t><x:del>` + wordRun("kept") + "</x:del></w:p>", "kept"},
		"drawn text":          {`<w:p><w:r><w:drawing><a:p><a:r><a:t>drawn</a:t></a:r></a:p></w:drawing></w:r></w:p>`, "drawn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := mustRead(t, ooxml.ReadWord, pack(t, wordParts(c.body)))
			if diff := cmp.Diff(c.want, markdown(draft)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWordStrictNamespaces(t *testing.T) {
	t.Parallel()
	parts := map[string]string{
		"_rels/.rels":       strings.ReplaceAll(relationships("officeDocument", "word/document.xml"), "http://x/", "http://purl.oclc.org/ooxml/officeDocument/"),
		"word/document.xml": `<document xmlns="http://purl.oclc.org/ooxml/wordprocessingml/main"><body><p><pPr><outlineLvl val="1"/></pPr><r><t>Strict</t></r></p></body></document>`,
	}
	if got := markdown(mustRead(t, ooxml.ReadWord, pack(t, parts))); got != "## Strict" {
		t.Error(got)
	}
}

func TestWordPagesAreThoseThatTheWordProcessorMarked(t *testing.T) {
	t.Parallel()
	const mark, author = "<w:r><w:lastRenderedPageBreak/></w:r>", `<w:r><w:br w:type="page"/></w:r>`
	pages := func(body string) ([]int, int) {
		draft := mustRead(t, ooxml.ReadWord, pack(t, wordParts(body)))
		found := make([]int, 0, len(draft.Blocks))
		for _, block := range draft.Blocks {
			found = append(found, block.Page)
		}
		return found, draft.Pages
	}
	got, count := pages("<w:p>" + wordRun("one") + author + "</w:p><w:p>" + mark + wordRun("two") + "</w:p><w:p>" + wordRun("two ") + mark + wordRun("and three") + "</w:p>" +
		styled("<w:pageBreakBefore/>", mark+wordRun("four")) + "<w:p>" + author + author + mark + wordRun("six") + "</w:p>")
	if diff := cmp.Diff([]int{1, 2, 2, 4, 6}, got); diff != "" || count != 6 {
		t.Errorf("%d pages (-want +got):\n%s", count, diff)
	}
	if got, count := pages("<w:p>" + wordRun("one") + author + wordRun("two") + "</w:p>"); count != 0 || got[0] != 0 {
		t.Errorf("without marks: %v, %d pages", got, count)
	}
}

func TestWordTitleAnchorsAndProperties(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, ooxml.ReadWord, pack(t, wordParts(inStyle("T", "On the page")+inStyle("berschrift1", "Same")+inStyle("berschrift1", "Same"))))
	if draft.Title != "On the page" || draft.Meta["title"] != "In the properties" || !draft.Prose {
		t.Errorf("%+v", draft)
	}
	var anchors []string
	for _, block := range draft.Blocks {
		anchors = append(anchors, block.Anchor)
	}
	if diff := cmp.Diff([]string{"on-the-page", "same", "same-1"}, anchors); diff != "" {
		t.Error(diff)
	}
}

func TestWordWithBrokenParts(t *testing.T) {
	t.Parallel()
	body := inStyle("berschrift1", "One") + `<w:p>` + wordRun("two") + `<w:r><w:footnoteReference w:id="1"/></w:r></w:p>`
	for name, c := range map[string]struct {
		change         func(map[string]string)
		text, damaged  string
		nothing, wrong bool
	}{
		"whole":                {change: func(map[string]string) {}, text: "# One\n\ntwo[1]\n\n- [1] First note.\nMore of it."},
		"styles":               {change: func(p map[string]string) { p["word/styles.xml"] = "no XML" }, text: "# One\n\ntwo[1]", damaged: "styles"},
		"no styles":            {change: func(p map[string]string) { p["word/styles.xml"] = "" }, text: "# One\n\ntwo[1]"},
		"notes that break off": {change: func(p map[string]string) { p["word/footnotes.xml"] = p["word/footnotes.xml"][:160] }, text: "# One\n\ntwo", damaged: "footnotes (footnotes.xml: invalid XML"},
		"text that breaks off": {change: func(p map[string]string) {
			p["word/document.xml"] = strings.Split(p["word/document.xml"], "</w:t></w:r><w:r>")[0]
		}, text: "# One\n\ntwo", damaged: "the rest of the text"},
		"links":                   {change: func(p map[string]string) { p["word/_rels/document.xml.rels"] = "<a>" }, text: "# One\n\ntwo[1]", damaged: "links between its parts"},
		"nothing but an opening":  {change: func(p map[string]string) { p["word/document.xml"] = "<w:document><w:body>" }, wrong: true},
		"well-formed and no text": {change: func(p map[string]string) { p["word/document.xml"] = "<w:document/>" }, nothing: true},
	} {
		parts := wordParts(body)
		c.change(parts)
		draft, err := ooxml.ReadWord(t.Context(), source(pack(t, parts), document.Limits{}))
		if c.wrong {
			if _, ok := errors.AsType[*document.DamagedError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		damaged, _ := draft.Extra["damaged"].(string)
		if got := markdown(draft); !strings.HasPrefix(got, c.text) || (c.damaged == "") != (damaged == "") || !strings.Contains(damaged, c.damaged) || c.nothing != (len(draft.Blocks) == 0) {
			t.Errorf("%s: %q, damaged %q", name, got, damaged)
		}
	}
}

func TestWordOfHostileSizes(t *testing.T) {
	t.Parallel()
	nested := func(open, inner, shut string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	for name, body := range map[string]string{
		"tables in tables":    nested("<w:tbl><w:tr><w:tc>", wordParagraph("deep"), "</w:tc></w:tr></w:tbl>", 3000),
		"boxes in boxes":      nested("<w:p><w:r><w:txbxContent>", wordParagraph("deep"), "</w:txbxContent></w:r></w:p>", 3000),
		"controls":            nested("<w:sdt><w:sdtContent>", wordParagraph("deep"), "</w:sdtContent></w:sdt>", 4000),
		"links in links":      "<w:p>" + nested(`<w:hyperlink r:id="r1">`, wordRun("deep"), "</w:hyperlink>", 4000) + "</w:p>",
		"formulas":            "<w:p>" + wordRun("deep") + "<m:oMath>" + nested("<m:f><m:num>", "<m:r><m:t>x</m:t></m:r>", "</m:num></m:f>", 4000) + "</m:oMath></w:p>",
		"alternates":          "<w:p><w:r>" + nested("<mc:AlternateContent><mc:Choice>", "<w:t>deep</w:t>", "</mc:Choice></mc:AlternateContent>", 4000) + "</w:r></w:p>",
		"fields":              strings.Repeat(`<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r></w:p>`, 2000) + "<w:p>" + strings.Repeat(`<w:r><w:fldChar w:fldCharType="begin"/><w:fldChar w:fldCharType="separate"/></w:r>`, 5000) + wordRun("deep") + "</w:p>",
		"wide cells":          "<w:tbl>" + strings.Repeat(`<w:tr><w:trPr><w:gridBefore w:val="2000000000"/></w:trPr><w:tc><w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>`+wordParagraph("deep")+"</w:tc></w:tr>", 300) + "</w:tbl>",
		"cells without rows":  "<w:tc>" + wordParagraph("deep") + "</w:tc><w:tr><w:tc/></w:tr><w:tbl><w:tc/><w:tr><w:tr/></w:tr></w:tbl>",
		"many cells of a row": "<w:tbl><w:tr>" + strings.Repeat("<w:tc>"+wordParagraph("deep")+"</w:tc>", 30_000) + "</w:tr></w:tbl>",
		"many cells":          "<w:tbl><w:tr>" + strings.Repeat("<w:tc>"+wordParagraph("deep")+"</w:tc>", 2000) + "</w:tr></w:tbl>",
	} {
		draft, err := ooxml.ReadWord(t.Context(), source(pack(t, wordParts(body)), document.Limits{MaxRatio: 1 << 40}))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := markdown(draft); !strings.Contains(got, "deep") || len(got) > 1<<20 {
			t.Errorf("%s: %d bytes: %.100q", name, len(got), got)
		}
	}
}

func TestWordLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   string
		limits document.Limits
	}{
		"text":       {wordParagraph(strings.Repeat("word ", 1000)), document.Limits{MaxText: 1000}},
		"paragraphs": {strings.Repeat(wordParagraph("x"), 1000), document.Limits{MaxText: 1000}},
		"cells":      {"<w:tbl>" + strings.Repeat("<w:tr>"+strings.Repeat("<w:tc/>", 50)+"</w:tr>", 100) + "</w:tbl>", document.Limits{MaxText: 1000}},
		"pages":      {strings.Repeat("<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>", 100), document.Limits{MaxPages: 20}},
		"expanded":   {wordParagraph(strings.Repeat("word ", 1000)), document.Limits{MaxExpanded: 1000}},
	} {
		_, err := ooxml.ReadWord(t.Context(), source(pack(t, wordParts(c.body)), c.limits))
		if _, ok := errors.AsType[*document.LimitError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
