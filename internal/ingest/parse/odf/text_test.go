package odf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
)

const textStyles = `<office:styles>
<style:style style:name="Heading_20_2" style:family="paragraph" style:default-outline-level="2"/>
<style:style style:name="Preformatted_20_Text" style:family="paragraph"/>
<style:style style:name="Quotations" style:family="paragraph"/>
<style:style style:name="Hidden" style:family="paragraph"><style:text-properties text:display="none"/></style:style>
<style:style style:name="Loop1" style:family="paragraph" style:parent-style-name="Loop2"/>
<style:style style:name="Loop2" style:family="paragraph" style:parent-style-name="Loop1"/>
<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1"/><text:list-level-style-number text:level="2" style:num-format="a" text:start-value="3"/></text:list-style>
</office:styles><office:automatic-styles>
<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Heading_20_2"/>
<style:style style:name="P2" style:family="paragraph" style:parent-style-name="Preformatted_20_Text"/>
<style:style style:name="P3" style:family="paragraph" style:parent-style-name="Hidden"/>
<style:style style:name="P4" style:family="paragraph" style:parent-style-name="Hidden"><style:text-properties text:display="true"/></style:style>
<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>
<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="B2" style:family="text"><style:text-properties fo:font-weight="700"/></style:style>
<style:style style:name="I" style:family="text"><style:text-properties fo:font-style="italic"/></style:style>
<style:style style:name="NB" style:family="text"><style:text-properties fo:font-weight="400"/></style:style>
</office:automatic-styles>`

func TestTextGivesBlocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"headings": {`<text:h text:outline-level="1">One</text:h><text:h text:outline-level="9">Two<text:line-break/>lines</text:h><text:h>Three</text:h><text:h/>`,
			"# One\n\n###### Two lines\n\n# Three"},
		"headings by style":              {`<text:p text:style-name="P1">Part</text:p><text:p text:style-name="Loop1">x</text:p>`, "## Part\n\nx"},
		"a title":                        {`<text:p text:style-name="Title">The book</text:p>`, "# The book"},
		"blanks":                         {"<text:p>\n a  b<text:s text:c=\"3\"/>c<text:tab/>d\u00A0e \n</text:p>", "a b c d e"},
		"line breaks":                    {`<text:p>a <text:line-break/> b<text:line-break/><text:line-break/>c</text:p>`, "a\nb\nc"},
		"controls":                       {"<text:p>a\u0001b\u00ADc&#8;d\uFEFF</text:p>", "abcd"},
		"links":                          {`<text:p><text:a xlink:href="https://a.example/x (1)">the <text:span>page</text:span> </text:a>and <text:a xlink:href="#b">here</text:a>, <text:a xlink:href="../f.odt">file</text:a>, <text:a xlink:href="javascript:x()">run</text:a></text:p>`, "[the page](https://a.example/x%20%281%29) and here, file, run"},
		"addresses":                      {`<text:p><text:a xlink:href="mailto:a@b.example">a@b.example</text:a> <text:a xlink:href="http://b.example/">http://b.example</text:a></text:p>`, "a@b.example http://b.example"},
		"bold and italic":                {`<text:p>a <text:span text:style-name="B">bo</text:span><text:span text:style-name="B2">ld </text:span>word, <text:span text:style-name="I">slanted</text:span> <text:span text:style-name="B">both <text:span text:style-name="I">at once</text:span></text:span>.</text:p>`, "a **bold** word, *slanted* **both** ***at once***."},
		"parts of words are not bold":    {`<text:p>a<text:span text:style-name="B">b</text:span> <text:span text:style-name="B">c</text:span>d <text:span text:style-name="B">not <text:span text:style-name="NB">this</text:span></text:span></text:p>`, "ab cd **not** this"},
		"a bold paragraph is not marked": {`<text:p> <text:span text:style-name="B">all</text:span> <text:span text:style-name="B">of it</text:span> </text:p><text:h><text:span text:style-name="B">Head</text:span> line</text:h>`, "all of it\n\n# Head line"},
		"marks and links":                {`<text:p><text:span text:style-name="B">see </text:span><text:a xlink:href="https://a.example"><text:span text:style-name="B">the</text:span> page</text:a><text:span text:style-name="B">.</text:span> <text:span text:style-name="B">2 * 3</text:span> <text:span text:style-name="B">a<text:line-break/>b</text:span> x</text:p>`, "**see** [the page](https://a.example). 2 * 3 a\nb x"},
		"no link in a heading":           {`<text:h text:outline-level="2"><text:a xlink:href="https://a.example">A</text:a> b</text:h>`, "## A b"},
		"code spans":                     {`<text:p>run <text:span text:style-name="Source_20_Text">a </text:span><text:span text:style-name="Source_20_Text">-b</text:span>.</text:p>`, "run `a -b`."},
		"code":                           {`<text:p text:style-name="P2">if x<text:s text:c="2"/>{</text:p><text:p text:style-name="P2"><text:s text:c="4"/>y<text:tab/>z</text:p><text:p text:style-name="P2"/><text:p text:style-name="P2">}<text:line-break/>end</text:p><text:p/><text:p text:style-name="P2">next</text:p>`, "```\nif x  {\n    y\tz\n\n}\nend\n```\n\n```\nnext\n```"},
		"quotes":                         {`<text:p text:style-name="Quotations">a</text:p><text:p text:style-name="Quotations">b</text:p>`, "> a\n> \n> b"},
		"hidden":                         {`<text:p text:style-name="P3">no</text:p><text:p text:style-name="P4">yes</text:p><text:p>a<text:span text:style-name="T1">no</text:span><text:hidden-text text:is-hidden="true">no</text:hidden-text></text:p><text:p><text:hidden-paragraph text:is-hidden="true"/>no</text:p><text:section text:display="none"><text:p>no</text:p></text:section><text:section text:display="condition" text:is-hidden="true"><text:p>no</text:p></text:section><text:section><text:p>b</text:p></text:section>`, "yes\n\na\n\nb"},
		"tracked changes":                {`<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes><text:p>a<text:change-start/>b<text:change-end/>c<text:change/></text:p>`, "abc"},
		"indexes":                        {`<text:table-of-content><text:index-body><text:p>Part 1</text:p></text:index-body></text:table-of-content><text:alphabetical-index><text:index-body><text:p>word 1</text:p></text:index-body></text:alphabetical-index><text:bibliography><text:bibliography-source><text:index-title-template>T</text:index-title-template></text:bibliography-source><text:index-body><text:index-title><text:p>Sources</text:p></text:index-title><text:p>Book</text:p></text:index-body></text:bibliography>`, "Sources\n\nBook"},
		"notes":                          {`<text:h>A</text:h><text:p>x<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>first</text:p><text:p>line</text:p></text:note-body></text:note> y<text:note><text:note-citation/><text:note-body><text:p>star</text:p></text:note-body></text:note></text:p><text:p>z</text:p><text:h>B</text:h>`, "# A\n\nx[1] y[*]\n\nz\n\n- [1] first\n  line\n- [*] star\n\n# B"},
		"comments":                       {`<text:p>x<office:annotation office:name="1"><dc:creator>Ann</dc:creator><dc:date>2024-01-01</dc:date><text:p>really</text:p><text:p>so?</text:p></office:annotation> y<office:annotation-end office:name="1"/></text:p>`, "x y\n\n> Ann: really\n> so?"},
		"pictures":                       {`<text:p>see <draw:frame><draw:image/><svg:title>Map</svg:title><svg:desc>of the coast</svg:desc></draw:frame>.</text:p><draw:frame><draw:image/><svg:desc>Plan</svg:desc></draw:frame>`, "see Map: of the coast .\n\nPlan"},
		"text boxes":                     {`<text:p>before <draw:frame><draw:text-box><text:p><draw:frame><draw:image/><svg:title>Boat</svg:title></draw:frame>Figure 1: a boat</text:p></draw:text-box></draw:frame>after</text:p>`, "before after\n\nBoat Figure 1: a boat"},
		"shapes":                         {`<draw:rect><text:p>in a box</text:p></draw:rect><draw:g><svg:desc>two shapes</svg:desc><draw:line/></draw:g>`, "in a box\n\ntwo shapes"},
		"ruby":                           {`<text:p><text:ruby><text:ruby-base>潮汐</text:ruby-base><text:ruby-text>ちょうせき</text:ruby-text></text:ruby></text:p>`, "潮汐(ちょうせき)"},
		"fields":                         {`<text:p>On <text:date>1 May</text:date>, page <text:page-number>3</text:page-number><text:bookmark text:name="b"/><text:script>run()</text:script>, <text:sequence>2</text:sequence></text:p>`, "On 1 May, page 3, 2"},
		"a formula":                      {`<text:p>so <draw:frame><draw:object><math:math><math:semantics><math:mrow><math:mi>E</math:mi><math:mo>=</math:mo></math:mrow><math:annotation math:encoding="StarMath 5.0">E = m c^2</math:annotation></math:semantics></math:math></draw:object></draw:frame></text:p><text:p><draw:frame><draw:object><math><mi>a</mi><mo>+</mo><mi>b</mi></math></draw:object></draw:frame></text:p>`, "so E = m c^2\n\na + b"},
		"an object inside":               {`<text:p><draw:frame><draw:object><office:document><office:body><office:chart><chart:chart><chart:title><text:p>Landings</text:p></chart:title><table:table><table:table-row><table:table-cell/><table:table-cell><text:p>kg</text:p><draw:g><svg:desc>S.B1:S.B1</svg:desc></draw:g></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>May</text:p></table:table-cell><table:table-cell><text:p>5</text:p></table:table-cell></table:table-row></table:table></chart:chart></office:chart></office:body></office:document></draw:object></draw:frame></text:p>`, "Landings\n\n|  | kg |\n| --- | --- |\n| May | 5 |"},
		"empty":                          {`<text:p/><text:sequence-decls><text:sequence-decl/></text:sequence-decls>`, ""},
		"markup of other programs":       {`<x:thing><text:p>kept</text:p></x:thing><office:forms><form:form>no</form:form></office:forms>`, "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown(mustRead(t, odf.ReadText, flat("text", textStyles, c.body))); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func listOf(attributes string, items ...string) string {
	return `<text:list ` + attributes + `><text:list-item>` + strings.Join(items, `</text:list-item><text:list-item>`) + `</text:list-item></text:list>`
}

func TestListsKeepTheirLevelsAndNumbers(t *testing.T) {
	t.Parallel()
	p := func(text string) string { return "<text:p>" + text + "</text:p>" }
	numbered, dots := `text:style-name="N" xml:id="a"`, `text:style-name="D"`
	for name, c := range map[string]struct{ body, want string }{
		"bullets":              {listOf(dots, p("a")+p("b<text:line-break/>c"), p("d")), "- a\n  b\n  c\n- d"},
		"nested":               {listOf(numbered, p("a")+listOf("", p("b"), p("c")), p("d")+listOf("", p("e"))), "1. a\n   3. b\n   4. c\n2. d\n   3. e"},
		"a start":              {`<text:list text:style-name="N"><text:list-item text:start-value="5"><text:p>a</text:p></text:list-item><text:list-item><text:p>b</text:p></text:list-item></text:list>`, "5. a\n6. b"},
		"a header":             {`<text:list><text:list-header><text:p>lead</text:p></text:list-header><text:list-item><text:p>a</text:p></text:list-item></text:list>`, "  lead\n- a"},
		"continued":            {listOf(numbered, p("a"), p("b")) + p("x") + listOf(`text:style-name="N" text:continue-list="a"`, p("c")), "1. a\n2. b\n\nx\n\n3. c"},
		"continued by style":   {listOf(`text:style-name="N"`, p("a")) + p("x") + listOf(`text:style-name="N" text:continue-numbering="true"`, p("b")), "1. a\n\nx\n\n2. b"},
		"two lists":            {listOf(`text:style-name="N"`, p("a")) + listOf(`text:style-name="N"`, p("b")), "1. a\n\n1. b"},
		"cut at a level":       {listOf(dots, p("a")) + listOf(numbered, listOf("", p("b"), p("c"))) + listOf(dots+` text:continue-list="x"`, p("d")), "- a\n  3. b\n  4. c\n\n- d"},
		"cut and continued":    {listOf(dots+` xml:id="d"`, p("a")) + listOf(numbered, listOf("", p("b"))) + listOf(dots+` text:continue-list="d"`, p("c")), "- a\n  3. b\n- c"},
		"begun at a level":     {listOf(dots, listOf("", p("a")), p("b")), "  - a\n- b"},
		"headings in it":       {listOf(numbered, "<text:h>A</text:h>"+listOf("", `<text:h text:outline-level="2">B</text:h>`)), "# 1 A\n\n## c B"},
		"a table in it":        {listOf(dots, p("a")+`<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row></table:table>`+p("b"), p("c")), "- a\n\n| x | y |\n| --- | --- |\n\n  b\n- c"},
		"a note in it":         {listOf(dots, "<text:p>a<text:note><text:note-citation>1</text:note-citation><text:note-body>"+listOf("", p("n"))+"</text:note-body></text:note></text:p>"), "- a[1]\n\n- [1] - n"},
		"a comment in it":      {listOf(dots, "<text:p>a<office:annotation><text:p>why</text:p></office:annotation></text:p>", p("b")), "- a\n  why\n- b"},
		"empty items":          {listOf(numbered, "", p("a"), "<text:p/>", p("b")), "1. a\n2. b"},
		"numbered paragraphs":  {`<text:numbered-paragraph text:style-name="N" text:level="1"><text:p>a</text:p></text:numbered-paragraph><text:numbered-paragraph text:style-name="N" text:level="2"><text:p>b</text:p></text:numbered-paragraph><text:numbered-paragraph text:style-name="N" text:level="1"><text:p>c</text:p></text:numbered-paragraph>`, "1. a\n  3. b\n2. c"},
		"a style without name": {listOf("", p("a")), "- a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown(mustRead(t, odf.ReadText, flat("text", textStyles, c.body))); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestHeadingsKeepTheNumbersOfTheirOutline(t *testing.T) {
	t.Parallel()
	styles := `<office:styles><text:outline-style><text:outline-level-style text:level="1" style:num-format="1" style:num-suffix="."/>` +
		`<text:outline-level-style text:level="2" style:num-format="A" text:display-levels="2"/>` +
		`<text:outline-level-style text:level="3" style:num-format="i" style:num-prefix="(" style:num-suffix=")" text:start-value="4"/></text:outline-style>` +
		`<style:style style:name="Off" style:family="paragraph" style:list-style-name=""/><style:style style:name="Off2" style:family="paragraph" style:parent-style-name="Off"/></office:styles>`
	h := func(level, attributes, text string) string {
		return `<text:h text:outline-level="` + level + `" ` + attributes + `>` + text + `</text:h>`
	}
	body := h("1", "", "a") + h("2", "", "b") + h("2", "", "c") + h("3", "", "d") + h("3", "", "e") + h("1", `text:style-name="Off2"`, "f") +
		h("1", `text:is-list-header="true"`, "g") + h("1", "", "2. h") + h("2", "", "i") + h("1", `text:restart-numbering="true" text:start-value="27"`, "j") + h("4", "", "k") + h("12", "", "l")
	want := "# 1. a\n\n## 1.A b\n\n## 1.B c\n\n### (iv) d\n\n### (v) e\n\n# f\n\n# g\n\n# 2. h\n\n## 2.A i\n\n# 27. j\n\n#### k\n\n###### l"
	if got := markdown(mustRead(t, odf.ReadText, flat("text", styles, body))); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTablesOfTexts(t *testing.T) {
	t.Parallel()
	cell := func(inside string) string { return "<table:table-cell>" + inside + "</table:table-cell>" }
	p := func(text string) string { return cell("<text:p>" + text + "</text:p>") }
	row := func(cells ...string) string {
		return "<table:table-row>" + strings.Join(cells, "") + "</table:table-row>"
	}
	for name, c := range map[string]struct{ inside, want string }{
		"header rows":      {"<table:table-header-rows>" + row(p("A"), p("B")) + "</table:table-header-rows><table:table-rows>" + row(p("1"), p("2")) + "</table:table-rows>", "| A | B |\n| --- | --- |\n| 1 | 2 |"},
		"spans":            {row(`<table:table-cell table:number-columns-spanned="2"><text:p>A</text:p></table:table-cell><table:covered-table-cell><text:p>no</text:p></table:covered-table-cell>`, p("C")) + row(p("1"), p("2"), p("3")), "| A |  | C |\n| --- | --- | --- |\n| 1 | 2 | 3 |"},
		"repeated columns": {row(`<table:table-cell table:number-columns-repeated="2"><text:p>A</text:p></table:table-cell>`, `<table:table-cell table:number-columns-repeated="9999999"/>`) + row(`<table:table-cell table:number-columns-repeated="1"/>`, p("2")), "| A | A |\n| --- | --- |\n|  | 2 |"},
		"repeated rows":    {row(p("A"), p("B")) + `<table:table-row table:number-rows-repeated="2">` + p("1") + p("2") + `</table:table-row><table:table-row table:number-rows-repeated="9999999"><table:table-cell/></table:table-row>`, "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 1 | 2 |"},
		"values":           {row(p("A"), `<table:table-cell office:value-type="float" office:value="1.5"/>`) + row(`<table:table-cell office:value-type="percentage" office:value="0.125"/>`, `<table:table-cell office:value-type="date" office:date-value="2024-01-01"/>`), "| A | 1.5 |\n| --- | --- |\n| 12.5% | 2024-01-01 |"},
		"several paragraphs": {row(p("A"), p("B")) + row(cell("<text:p>1</text:p><text:p>2</text:p>"), cell(listOf("", "<text:p>x</text:p>", "<text:p>y</text:p>"))),
			"| A | B |\n| --- | --- |\n| 1 2 | - x - y |"},
		"a box":                   {row(cell("<text:p>one</text:p><text:p>two</text:p>")), "one\n\ntwo"},
		"an arrangement":          {row(cell(`<text:h text:outline-level="2">A</text:h><text:p>a</text:p>`), cell("<text:p>b</text:p>")), "## A\n\na\n\nb"},
		"a table in a table":      {row(p("A"), p("B")) + row(p("1"), cell("<table:table>"+row(p("x"), p("y"))+row(p("z"), p("w"))+"</table:table>")), "| A | B |\n| --- | --- |\n| 1 | x y z w |"},
		"a table in a box":        {row(cell("<table:table>" + row(p("x"), p("y")) + "</table:table>")), "| x | y |\n| --- | --- |"},
		"bars and line breaks":    {row(p("A|B"), p("a<text:line-break/>b")), "| A\\|B | a b |\n| --- | --- |"},
		"nothing":                 {row(cell("")), ""},
		"a note":                  {row(p("A<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>n</text:p></text:note-body></text:note>"), p("B")), "| A[1] | B |\n| --- | --- |\n\n- [1] n"},
		"rows of a single column": {row(p("a")) + row(p("b")), "| a |\n| --- |\n| b |"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown(mustRead(t, odf.ReadText, flat("text", "", "<table:table>"+c.inside+"</table:table>"))); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestPagesAreThoseTheFileMarks(t *testing.T) {
	t.Parallel()
	styles := func(pages string) string {
		return `<office:meta><meta:document-statistic meta:page-count="` + pages + `"/></office:meta><office:automatic-styles>` +
			`<style:style style:name="B" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/></style:style>` +
			`<style:style style:name="M" style:family="paragraph" style:master-page-name="First"/></office:automatic-styles>`
	}
	body := `<text:p text:style-name="M">one</text:p><text:p>two<text:soft-page-break/>three</text:p><text:p><text:soft-page-break/>four</text:p>` +
		`<text:p text:style-name="B">five</text:p><text:list><text:list-item><text:p>six</text:p></text:list-item><text:soft-page-break/><text:list-item><text:p>seven</text:p></text:list-item></text:list>`
	pages := func(draft *document.Draft) []int {
		var list []int
		for _, block := range draft.Blocks {
			list = append(list, block.Page)
		}
		return list
	}
	for name, c := range map[string]struct {
		pages, body string
		want        []int
		count       int
	}{
		"marked":              {"5", body, []int{1, 1, 3, 4, 4}, 5},
		"not counted":         {"", body, []int{1, 1, 3, 4, 4}, 5},
		"counted differently": {"90", body, []int{0, 0, 0, 0, 0}, 90},
		"not marked":          {"2", `<text:p>one</text:p><text:p text:style-name="B">two</text:p>`, []int{0, 0}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := mustRead(t, odf.ReadText, flat("text", styles(c.pages), c.body))
			if diff := cmp.Diff(c.want, pages(draft)); diff != "" || draft.Pages != c.count {
				t.Errorf("%d pages (-want +got):\n%s", draft.Pages, diff)
			}
		})
	}
}

func TestHeadingsHaveAnchorsOfTheirOwn(t *testing.T) {
	t.Parallel()
	got := mustRead(t, odf.ReadText, flat("text", "", `<text:h>Same name</text:h><text:h>Same name</text:h>`)).Blocks
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "Same name", Anchor: "same-name"},
		{Kind: document.Heading, Level: 1, Text: "Same name", Anchor: "same-name-1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestObjectsOfThePackageAreReadOnce(t *testing.T) {
	t.Parallel()
	object := `<draw:frame><draw:object xlink:href="./Object 1"/><draw:image/><svg:desc>a chart</svg:desc></draw:frame>`
	draft := mustRead(t, odf.ReadText, pack(t, map[string]string{
		"content.xml": `<office:document-content><office:automatic-styles><style:style style:name="P1" style:family="paragraph"/></office:automatic-styles>` +
			`<office:body><office:text><text:p>` + object + `</text:p><text:p text:style-name="P1">after</text:p><text:p>` + object + `</text:p></office:text></office:body></office:document-content>`,
		"Object 1/content.xml": `<office:document-content><office:automatic-styles><style:style style:name="P1" style:family="paragraph"><style:text-properties text:display="none"/></style:style></office:automatic-styles>` +
			`<office:body><office:text><text:p>inside</text:p><text:p text:style-name="P1">unseen</text:p><text:p>` + object + `</text:p></office:text></office:body></office:document-content>`,
	}))
	if got, want := markdown(draft), "inside\n\na chart\n\nafter\n\na chart"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
