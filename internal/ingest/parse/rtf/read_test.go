package rtf_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
)

const head = `{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\froman\fcharset0 Times New Roman;}{\f1\fmodern\fcharset0 Courier New;}` +
	`{\f2\fnil\fcharset2 Symbol;}{\f3\fnil\fcharset2 Wingdings;}{\f4\fnil\fcharset128 MS Mincho;}{\f5\fnil\fcharset204 Times New Roman Cyr;}` +
	`{\f6\fnil\fcharset134 SimSun;}{\f7\fnil\fcharset136 PMingLiU;}{\f8\fnil\fcharset129 Batang;}{\f9\fnil\fcharset238 Arial CE;}` +
	`{\f10\fnil\fcharset178 Arial (Arabic);}}` +
	`{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 \'dcberschrift 1;}{\s2 heading 2;}{\s3\sbasedon2 Kapitel;}{\s4 Title;}{\s5 Source Code;}` +
	`{\s6 Quote;}{\s7 toc 1;}{\*\cs8 Strong;}{\s9\sbasedon9 Loop;}}`

func source(content string) document.Source {
	limits := document.Limits{}.WithDefaults()
	return document.Source{Name: "a.rtf", Content: []byte(content), Limits: limits, Budget: document.NewBudget(limits)}
}

func mustRead(t *testing.T, content string) *document.Draft {
	t.Helper()
	found, err := rtf.Read(t.Context(), source(content))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func markdown(blocks []document.Block) string { return (&document.Document{Blocks: blocks}).Markdown() }

func TestTextBecomesBlocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"paragraphs":       {`\pard One\par\pard two\line three\par`, "One\n\ntwo\nthree"},
		"line ends":        {"\\pard O\r\nn\ne\\\npart\\par", "One\n\npart"},
		"special":          {`\lquote a\rquote\emdash\ldblquote b\rdblquote\endash c\bullet d\~e\_f\-g\{\}\\\par`, "‘a’—“b”–c•d e-fg{}\\"},
		"no last par":      {`\pard end`, "end"},
		"escapes":          {`caf\'e9 \'80\par`, "café €"},
		"unicode":          {`\u8364?\u-10179 ?\u-8704 ?x\par`, "€😀x"},
		"fallback length":  {`\uc2\u22269\'b9\'fax{\uc0\u22269 y}\u22269 ??z\par`, "国x国y国z"},
		"fallback is word": {`a\u8211\endash b\par`, "a–b"},
		"no fallback":      {`a\u8211\b b\par`, "a–**b**"},
		"lone surrogate":   {`a\u-10179 ?b\par`, "ab"},
		"Japanese":         {`\f4\'93\'fa\'96{\f4\'7b\'8c\'ea}\par`, "日本語"},
		"Japanese letter":  {`\f4\'83A\'83\\\par`, "アソ"},
		"Cyrillic":         {`\f5\'cc\'ee\'f1\'ea\'e2\'e0\par`, "Москва"},
		"Chinese":          {`\f6\'d6\'d0\'b9\'fa {\f7\'a4\'a4\'b0\'ea}\par`, "中国 中國"},
		"Korean":           {`\f8\'c7\'d1\par`, "한"},
		"Central European": {`\f9\'a3\'f3d\'9f\par`, "Łódź"},
		"right to left":    {`\rtlch\fcs1\af10\ltrch\fcs0\f0 x\'e9 {\ltrch\fcs1\f0\rtlch\fcs0\af10\'e3}\par`, "xé م"},
		"symbols":          {`{\f2 a\'b7\u-3933 ?}{\f3\'fc\u-3844 ?}\u-3913 ?\par`, "α•≤✓✓"},
		"raw UTF-8":        {"caf\xc3\xa9 \\'e9\\par", "café é"},
		"headings":         {`\pard\s1 A\par\pard\s2 B\par\pard\s3 C\par\pard\outlinelevel2 D\par\pard\s1\outlinelevel9 E\par`, "# A\n\n## B\n\n## C\n\n### D\n\nE"},
		"heading in loop":  {`\pard\s9 A\par`, "A"},
		"heading, plain":   {`\pard\s1\b A\b0  b{\super\chftn{\footnote n}}\par\pard c\par`, "# A b\n\nc\n\n- [1] n"},
		"bold":             {`a {\b b c} d\b e\b0 f {\b\i g}\par`, "a **b c** def ***g***"},
		"bold in words":    {`a{\b b}c {\b d}.\par`, "abc **d**."},
		"hidden":           {`a{\v b}{\deleted c}d{\webhidden e}\par`, "ade"},
		"deleted mark":     {`a{\deleted\par}b\par`, "ab"},
		"destinations":     {`a{\*\unknown b{c}}{\xe index}{\*\bkmkstart d}{\private e}f\par`, "af"},
		"binary":           {"a{\\pict\\bin5 }}}}}00ff}b{\\bin3 {{{c}\\par", "abc"},
		"binary too long":  {`a\bin99999999 b\par`, "ab"},
		"binary negative":  {`a\bin-5 b\par`, "ab"},
		"both forms":       {`{\upr{a}{\*\ud{\u228?}}}\par`, "ä"},
		"code":             {"\\pard\\s5 x := 1\\par y\\par\\pard z {\\f1 mono}\\par\\pard\\f1 a\\tab b\\par", "```\nx := 1\ny\n```\n\nz mono\n\n```\na\tb\n```"},
		"quotation":        {`\pard\s6 a\par b\par\pard c\par`, "> a\n> \n> b\n\nc"},
		"contents":         {`\pard Contents\par\pard\s7 1 Part\tab 3\par\s7 Other\tab 4\par\pard\s1 1 Part\par\pard x\par`, "Contents\n\nOther 4\n\n# 1 Part\n\nx"},
		"picture":          {`a {\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A quay}}{\sp{\sn pib}{\sv x.png}}}\pngblip 89504e47}}{\nonshppict{\pict 00}}b\par`, "a A quay b"},
		"text box":         {`a {\shp{\*\shpinst\shpleft1{\sp{\sn x}{\sv 1}}{\shptxt\pard\s1 In\par\pard the box\par}}{\shprslt old}}b\par c\par`, "a b\n\n# In\n\nthe box\n\nc"},
		"object":           {`a {\object{\*\objdata 0011}{\result shown}} b\par`, "a shown b"},
		"comment": {`a{\v{\*\atnid X}{\*\atnauthor Ann}\chatn{\*\annotation{\*\atndate 1}\chatn\pard\plain Why?\par}} b\par c\par`,
			"a b\n\n> Ann: Why?\n\nc"},
		"footnotes": {`a{\super\chftn}{\*\footnote\chftn\pard\plain one\par two}.\par\pard\s1 H\par\pard b{\footnote three}\par`,
			"a[1].\n\n- [1] one\n  two\n\n# H\n\nb[2]\n\n- [2] three"},
		"headers": {`{\header\pard Guide\par}{\footer\pard Page {\field{\*\fldinst PAGE}{\fldrslt 3}}\par Draft\par{\shp{\*\shpinst{\shptxt Page {\field{\*\fldinst PAGE}{\fldrslt 3}}\par}}}}{\headerf Guide}a\par`, "a\n\nGuide\nDraft"},
		"link": {`see {\field{\*\fldinst{HYPERLINK "https://example.org/a(b)?c=1" \\o "tip"}}{\fldrslt{\ul the page}}}.\par`,
			"see [the page](https://example.org/a%28b%29?c=1)."},
		"link to a place":  {`{\field{\*\fldinst HYPERLINK \\l "x"}{\fldrslt here}} {\field{\*\fldinst HYPERLINK "http://e.org" \\l "y"}{\fldrslt there}}\par`, "here [there](http://e.org#y)"},
		"script link":      {`{\field{\*\fldinst HYPERLINK "javascript:alert(1)"}{\fldrslt here}}\par`, "here"},
		"field in a field": {`{\field{\*\fldinst IF {\field{\*\fldinst DATE}{\fldrslt 1 May}} = 2}{\fldrslt yes}}\par`, "yes"},
		"formula":          {`{\mmath{\*\moMath{\*\mf{\*\mfPr x}{\*\mnum{\*\mr a}}{\*\mden{\*\mr b}}}}}\par`, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, markdown(mustRead(t, head+c.body+"}").Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestListsKeepTheirLevels(t *testing.T) {
	t.Parallel()
	const lists = `{\*\listtable{\list{\listlevel\levelnfc0\levelstartat3{\leveltext x;}}{\listlevel\levelnfc4}{\listlevel\levelnfc2}\listid7}` +
		`{\list{\listlevel\levelnfc23}\listid8}{\list{\listlevel\levelnfc255}\listid9}}` +
		`{\*\listoverridetable{\listoverride\listid7\listoverridecount0\ls1}{\listoverride\listid8\ls2}{\listoverride\listid9\ls3}` +
		`{\listoverride\listoverridecount0\listid99\levelnfc23{\leveltext\'01\u8226 ;}\ls4}}`
	for name, c := range map[string]struct{ body, want string }{
		"numbers as text": {`{\listtext\pard\plain 1.\tab}\pard\ls1 a\par{\listtext\pard\plain\f2\'b7\tab}\ilvl1 b\par{\listtext 2.\tab}\ilvl0 c\line d\par`,
			"1. a\n   - b\n2. c\n   d"},
		"labels":         {`{\listtext (a)\tab}\pard\ls1 a\par{\listtext 1.2.\tab}b\par`, "- (a) a\n- 1.2. b"},
		"without a text": {`\pard\ls1 a\par b\par\ilvl1 c\par d\par\ilvl2 e\par\ilvl0 f\par`, "3. a\n4. b\n   - a. c\n   - b. d\n     - i. e\n5. f"},
		"bullets":        {`\pard\ls2 a\par b\par\pard c\par`, "- a\n- b\n\nc"},
		"no numbers":     {`\pard\ls3 a\par`, "a"},
		"corrupt table":  {`\pard\ls4 a\par\ls55 b\par`, "- a\n- b"},
		"two lists":      {`{\listtext 1.\tab}\pard\ls1 a\par{\listtext 1.\tab}b\par`, "1. a\n\n1. b"},
		"old bullets":    {`\pard{\pntext\f2\'b7\tab}{\*\pn\pnlvlblt\pnf1{\pntxtb\'b7}}a\par{\pntext\f2\'b7\tab}b\par`, "- a\n- b"},
		"old properties": {`\pard{\*\pn\pnlvlbody\pndec{\pntxta .}}a\par b\par\pard c\par`, "1. a\n2. b\n\nc"},
		"typed":          {`\pard\li360\fi-360\bullet\tab a\par\li720 -\tab b\par\li360\bullet\tab c\par\pard\fi-9 x y\tab z\par`, "- a\n  - b\n- c\n\nx y z"},
		"heading":        {`{\listtext 2.1\tab}\pard\ls1\s2 A\par`, "## 2.1 A"},
		"odd marker":     {`{\listtext\'00 1\'07.\tab}\pard\ls1 a\par`, "1. a"},
		"empty item":     {`{\listtext 1.\tab}\pard\ls1\par{\listtext 1.\tab}a\par`, "1. a"},
		"comment inside": {`{\listtext\'b7\tab}\pard\ls2 a{\*\annotation why}\par{\listtext\'b7\tab}b\par c\par`, "- a\n- b\n\n> why\n\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := c.body
			if name == "comment inside" {
				body = strings.Replace(body, " c", `\pard c`, 1)
			}
			if diff := cmp.Diff(c.want, markdown(mustRead(t, head+lists+body+"}").Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTablesKeepTheirCells(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"plain": {`\trowd\cellx100\cellx200\pard\intbl{\b A}\cell B\cell\row\pard\intbl 1\par 2\cell 3|4\cell\row\pard end\par`,
			"| A | B |\n| --- | --- |\n| 1 2 | 3\\|4 |\n\nend"},
		"spans by edges": {`\trowd\cellx100\cellx200\cellx300\pard\intbl a\cell b\cell c\cell\row\trowd\cellx110\cellx300\intbl d\cell e\cell\row` +
			`\trowd\cellx200\cellx310\intbl f\cell g\cell\row\pard`, "| a | b | c |\n| --- | --- | --- |\n| d | e |  |\n| f |  | g |"},
		"cells below": {`\trowd\cellx100\cellx200\pard\intbl a\cell b\cell\row\trowd\clvmgf\cellx100\cellx200\intbl c\cell d\cell\row` +
			`\trowd\clvmrg\cellx100\cellx200\intbl\cell e\cell\row`, "| a | b |\n| --- | --- |\n| c | d |\n| c | e |"},
		"header rows": {`\trowd\trhdr\cellx100\cellx200\pard\intbl a\cell b\cell\row a\cell c\cell\row\trowd\cellx100\cellx200\intbl d\cell e\cell\row`,
			"| a | b c |\n| --- | --- |\n| d | e |"},
		"nested": {`\trowd\cellx100\cellx200\pard\intbl a\cell b\cell\row\pard\intbl\itap2 x\nestcell y\nestcell{\*\nesttableprops\trowd\cellx50\cellx99\nestrow}` +
			`{\nonesttables\par}\itap2 z\nestcell w\nestcell{\*\nesttableprops\nestrow}\pard\intbl after\cell c\cell\row`,
			"| a | b |\n| --- | --- |\n| x, y; z, w after | c |"},
		"nested in a frame": {`\trowd\cellx100\pard\intbl\itap2 x\nestcell y\nestcell{\*\nesttableprops\nestrow}\itap2 1\nestcell 2\nestcell{\*\nesttableprops\nestrow}` +
			`\pard\intbl\cell\row\pard end\par`, "| x | y |\n| --- | --- |\n| 1 | 2 |\n\nend"},
		"single cell":     {`\trowd\cellx100\pard\intbl a\par b\cell\row\pard c\par`, "a\n\nb\n\nc"},
		"no last row":     {`\trowd\cellx100\cellx200\pard\intbl a\cell b\cell\row\intbl c\cell d`, "| a | b |\n| --- | --- |\n| c | d |"},
		"no intbl":        {`\trowd\cellx100\cellx200\pard a\cell b\cell\row\pard c\par`, "| a | b |\n| --- | --- |\n\nc"},
		"no definition":   {`\pard\intbl a\cell b\cell\row c\cell\row`, "| a | b |\n| --- | --- |\n| c |  |"},
		"two tables":      {`\trowd\pard\intbl a\cell b\cell\row\pard\par\trowd\intbl c\cell d\cell\row`, "| a | b |\n| --- | --- |\n\n| c | d |\n| --- | --- |"},
		"list in a cell":  {`\trowd\pard\intbl a\cell b\cell\row\pard\intbl{\listtext\'b7\tab}x\par{\listtext\'b7\tab}y\cell z\cell\row`, "| a | b |\n| --- | --- |\n| - x - y | z |"},
		"footnote inside": {`\trowd\pard\intbl a{\footnote n}\cell b\cell\row\pard c\par`, "| a[1] | b |\n| --- | --- |\n\nc\n\n- [1] n"},
		"comment inside":  {`\trowd\pard\intbl a{\*\annotation n}\cell b\cell\row\pard c\par`, "| a | b |\n| --- | --- |\n\n> n\n\nc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, markdown(mustRead(t, head+c.body+"}").Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInformationBecomesMeta(t *testing.T) {
	t.Parallel()
	got := mustRead(t, `{\rtf1\ansi\ansicpg1251{\info{\title \'cc\'e8\'f0}{\upr{\author ?}{\*\ud{\author \u1040?nna}}}{\subject s}{\keywords a, b}{\doccomm d}`+
		`{\operator o}{\*\company c}{\creatim\yr2024\mo2\dy29\hr7\min5}{\revtim\yr2025\mo13\dy1}{\printim\yr2025\mo1\dy1}\nofpages2}`+
		`\pard\s4 x\page y\par\sect\sbknone z\par}`)
	want := map[string]any{
		"title": "Мир", "author": "Аnna", "subject": "s", "keywords": "a, b", "description": "d", "last_modified_by": "o", "company": "c",
		"created": time.Date(2024, 2, 29, 7, 5, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got.Meta); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPagesCountOnlyWhereTheFileAgrees(t *testing.T) {
	t.Parallel()
	body := `a\par\page b\par\pard c\sect\sectd d\par\sect\sbknone e\par\pard\pagebb f\par\pard g\par}`
	got := mustRead(t, `{\rtf1{\info\nofpages4}`+body)
	var pages []int
	for _, block := range got.Blocks {
		pages = append(pages, block.Page)
	}
	if diff := cmp.Diff([]int{1, 2, 2, 3, 3, 4, 4}, pages); diff != "" || got.Pages != 4 {
		t.Errorf("%d pages (-want +got):\n%s", got.Pages, diff)
	}
	if got = mustRead(t, `{\rtf1{\info\nofpages7}`+body); got.Pages != 0 || got.Blocks[3].Page != 0 {
		t.Errorf("%d pages, %+v", got.Pages, got.Blocks)
	}
}

func TestTitleAndAnchors(t *testing.T) {
	t.Parallel()
	got := mustRead(t, head+`\pard\s4 The Guide\par\pard\s1 Part\par\s1 Part\par}`)
	want := []document.Block{
		{Kind: document.Heading, Level: 1, Text: "The Guide", Anchor: "the-guide"}, {Kind: document.Heading, Level: 1, Text: "Part", Anchor: "part"},
		{Kind: document.Heading, Level: 1, Text: "Part", Anchor: "part-1"},
	}
	if diff := cmp.Diff(want, got.Blocks); diff != "" || got.Title != "The Guide" {
		t.Errorf("title %q (-want +got):\n%s", got.Title, diff)
	}
}

func TestFilesInOneFontAreProse(t *testing.T) {
	t.Parallel()
	got := mustRead(t, `{\rtf1{\fonttbl{\f0 Courier New;}}\f0 Dear reader,\par this is a letter.\par\par `+strings.Repeat("long ", 40)+`\par end\par}`)
	want := "Dear reader,\nthis is a letter.\n\n" + strings.TrimSpace(strings.Repeat("long ", 40)) + "\n\nend"
	if diff := cmp.Diff(want, markdown(got.Blocks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDocumentPageCountsForPlainFonts(t *testing.T) {
	t.Parallel()
	if got := markdown(mustRead(t, `{\rtf1\ansicpg1251{\fonttbl{\f0\fcharset0 Arial;}}\f0\'cc\'e8\'f0\par}`).Blocks); got != "Мир" {
		t.Errorf("got %q", got)
	}
	if got := markdown(mustRead(t, `{\rtf1\ansicpg1251{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}}\f0\'e9\f1\'cc\par}`).Blocks); got != "éМ" {
		t.Errorf("got %q", got)
	}
}

func TestBrokenFilesGiveWhatCanBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want, damaged string }{
		"cut off":          {head + `\pard a{\b b`, "ab", "ends before"},
		"cut in a word":    {head + `\pard a\pa`, "a", "ends before"},
		"brace too many":   {`{\rtf1 a}\par b\par}`, "a\n\nb", "do not match"},
		"bytes at the end": {"{\\rtf1 a}\r\n\x00\x00", "a", ""},
		"braces behind":    {"{\\rtf1 a}}}", "a", ""},
		"odd escapes":      {`{\rtf1 a\'zz\'4b\'}`, "azzK", ""},
		"no version":       {`{\rtf a}`, "a", ""},
		"note at the top":  {`{\rtf1 a}{\footnote b`, "a\n\n[1]\n\n- [1] b", "do not match"},
		"note without":     {`{\rtf1 a\footnote b}`, "a[1]\n\n- [1] b", ""},
		"deep":             {`{\rtf1 ` + strings.Repeat("{", 20000) + `a{\info{\title b}}{\*\x c}` + strings.Repeat("}", 20000) + `d\par}`, "ad", "nested too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustRead(t, c.content)
			if diff := cmp.Diff(c.want, markdown(got.Blocks)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			damaged, _ := got.Extra["damaged"].(string)
			if (damaged == "") != (c.damaged == "") || !strings.Contains(damaged, c.damaged) {
				t.Errorf("damage is %q, want %q", damaged, c.damaged)
			}
		})
	}
}

func TestFilesWithoutText(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "plain text", "{", `{\rt`, `{\html}`, `{\rtf1{\fonttbl`, `{\rtf1 {\*\x a`} {
		_, err := rtf.Read(t.Context(), source(content))
		if _, damaged := errors.AsType[*document.DamagedError](err); !damaged {
			t.Errorf("%q: %v", content, err)
		}
	}
	if got := mustRead(t, `{\rtf1\ansi\par\par}`); len(got.Blocks) != 0 {
		t.Errorf("blocks are %+v", got.Blocks)
	}
}

func TestHostileFilesEndSoon(t *testing.T) {
	t.Parallel()
	million := 1_000_000
	for name, content := range map[string]string{
		"groups":        `{\rtf1 ` + strings.Repeat("{", million) + "a",
		"closed groups": `{\rtf1 ` + strings.Repeat("{", million) + "a" + strings.Repeat("}", million),
		"fields":        `{\rtf1 ` + strings.Repeat(`{\field{\*\fldinst HYPERLINK "http://a"}{\fldrslt `, 100_000),
		"footnotes":     `{\rtf1 ` + strings.Repeat(`{\footnote a`, 200_000),
		"comments":      `{\rtf1 ` + strings.Repeat(`{\*\annotation a`, 200_000),
		"cells":         `{\rtf1 ` + strings.Repeat(`\cell`, million),
		"rows":          `{\rtf1 ` + strings.Repeat(`a\cell\row `, 300_000),
		"edges":         `{\rtf1 \trowd` + strings.Repeat(`\cellx1`, million) + ` a\cell\row`,
		"looks":         `{\rtf1 ` + strings.Repeat(`\b a\b0 b `, 500_000),
		"fonts":         `{\rtf1{\fonttbl` + strings.Repeat(`{\f1 a;}{\f2 b;}`, 300_000) + `}a}`,
		"styles":        `{\rtf1{\stylesheet` + strings.Repeat(`{\s1\sbasedon2 a;}{\s2\sbasedon1 b;}`, 200_000) + `}\s1 a}`,
		"upr":           `{\rtf1 ` + strings.Repeat(`{\upr{`, 300_000),
		"bin":           `{\rtf1 ` + strings.Repeat(`\bin999999999 a`, 300_000),
		"unknown":       `{\rtf1 ` + strings.Repeat(`{\*\zz`, 300_000),
		"words":         `{\rtf1 ` + strings.Repeat(`\`+strings.Repeat("z", 40), 100_000) + "a",
		"markers":       `{\rtf1 ` + strings.Repeat(`{\listtext 1.\tab}\ls1\ilvl8 a\par `, 100_000),
		"headers":       `{\rtf1 ` + strings.Repeat(`{\header a\par b\par}`, 200_000) + "a}",
		"paragraphs":    `{\rtf1 ` + strings.Repeat(`a\par `, million),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := time.Now()
			_, err := rtf.Read(t.Context(), source(content))
			_, limit := errors.AsType[*document.LimitError](err)
			if _, damaged := errors.AsType[*document.DamagedError](err); err != nil && !limit && !damaged {
				t.Error(err)
			}
			t.Log(err)
			if took := time.Since(started); took > 20*time.Second {
				t.Errorf("%d bytes took %s", len(content), took)
			}
		})
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rtf.Read(ctx, source(head+strings.Repeat(`a\par `, 10_000)+"}")); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestTextHasALimit(t *testing.T) {
	t.Parallel()
	in := source(head + strings.Repeat(`abcdefgh\par `, 1000) + "}")
	in.Limits.MaxText = 5000
	_, err := rtf.Read(t.Context(), in)
	if _, limit := errors.AsType[*document.LimitError](err); !limit {
		t.Errorf("error is %v", err)
	}
}

func TestOfficeCorpus(t *testing.T) {
	t.Parallel()
	const folder = "../../../../../shared/corpora/office/files"
	for file, phrase := range map[string]string{"testRTF.rtf": "indexation Word", "testRTFCorruptListOverride.rtf": "Apples are fun!"} {
		content, err := os.ReadFile(filepath.Join(folder, file))
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("the shared corpora are not beside this checkout")
		}
		if err != nil {
			t.Fatal(err)
		}
		if text := markdown(mustRead(t, string(content)).Blocks); !strings.Contains(text, phrase) {
			t.Errorf("%s lacks %q:\n%s", file, phrase, text)
		}
	}
}
