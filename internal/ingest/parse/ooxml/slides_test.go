package ooxml_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
)

// slideShape is a shape with paragraphs as they stand in the file; the placeholder is its attributes, "" for none.
func slideShape(placeholder, paragraphs string) string {
	return slideShapeAt(placeholder, "", paragraphs)
}

// slideShapeAt is slideShape at a place, "x y width height".
func slideShapeAt(placeholder, place, paragraphs string) string {
	if placeholder != "" {
		placeholder = "<p:ph " + placeholder + "/>"
	}
	return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="n"/><p:nvPr>` + placeholder + `</p:nvPr></p:nvSpPr><p:spPr>` + slidePlace(place) +
		`</p:spPr><p:txBody><a:bodyPr/>` + paragraphs + `</p:txBody></p:sp>`
}

func slidePlace(place string) string {
	if place == "" {
		return ""
	}
	var x, y, w, h int
	if _, err := fmt.Sscan(place, &x, &y, &w, &h); err != nil {
		panic(err)
	}
	return fmt.Sprintf(`<a:xfrm><a:off x="%d" y="%d"/><a:ext cx="%d" cy="%d"/></a:xfrm>`, x, y, w, h)
}

func slideText(text string) string { return "<a:p><a:r><a:t>" + text + "</a:t></a:r></a:p>" }

// slideLine is a paragraph with properties.
func slideLine(attributes, properties, text string) string {
	return "<a:p><a:pPr" + attributes + ">" + properties + "</a:pPr><a:r><a:t>" + text + "</a:t></a:r></a:p>"
}

func slideTree(shapes string) string {
	return `<p:sld><p:cSld><p:spTree>` + shapes + `</p:spTree></p:cSld></p:sld>`
}

// slideParts are the parts of a presentation with a slide of those shapes.
func slideParts(shapes string) map[string]string {
	return map[string]string{
		"_rels/.rels":                     relationships("officeDocument", "ppt/presentation.xml"),
		"ppt/presentation.xml":            `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels": relationships("slide", "slides/slide1.xml", "slide", "slides/slide2.xml", "commentAuthors", "authors.xml"),
		"ppt/slides/slide1.xml":           slideTree(shapes),
		"ppt/slides/_rels/slide1.xml.rels": relationships("slideLayout", "../slideLayouts/l.xml", "hyperlink", "https://example.org", "notesSlide", "../notes/n.xml",
			"comments", "../comments/c.xml", "chart", "../charts/c.xml", "diagramData", "../diagrams/d.xml"),
		"ppt/slideLayouts/l.xml": slideTree(slideShapeAt(`type="title"`, "0 0 100 10", "") + slideShapeAt(`idx="1"`, "0 50 100 20", "") +
			slideShapeAt(`idx="2"`, "0 20 100 20", "") + slideShape(`type="body" idx="3"`, `<a:lstStyle><a:lvl1pPr><a:buNone/></a:lvl1pPr></a:lstStyle>`)),
		"ppt/slideLayouts/_rels/l.xml.rels": relationships("slideMaster", "../slideMasters/m.xml"),
		"ppt/slideMasters/m.xml":            `<p:sldMaster><p:cSld><p:spTree>` + slideShapeAt(`type="body"`, "0 90 100 10", "") + `</p:spTree></p:cSld><p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr><a:lvl2pPr><a:buNone/></a:lvl2pPr></p:bodyStyle></p:txStyles></p:sldMaster>`,
		"ppt/charts/c.xml":                  `<c:chartSpace><c:chart><c:title><a:t>Sales</a:t></c:title></c:chart></c:chartSpace>`,
		"ppt/diagrams/d.xml":                `<dgm:dataModel><dgm:ptLst><dgm:pt modelId="1"><dgm:t><a:p><a:r><a:t>one</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt modelId="2"><dgm:t><a:t>two</a:t></dgm:t></dgm:pt></dgm:ptLst><dgm:cxnLst><dgm:cxn srcId="1" destId="2"/><dgm:cxn srcId="2" destId="1"/></dgm:cxnLst></dgm:dataModel>`,
	}
}

func TestSlideMarkdown(t *testing.T) {
	t.Parallel()
	frame := func(inner string) string {
		return "<p:graphicFrame><p:nvGraphicFramePr/><p:xfrm/><a:graphic><a:graphicData>" + inner + "</a:graphicData></a:graphic></p:graphicFrame>"
	}
	cell := func(attributes, text string) string {
		return "<a:tc " + attributes + "><a:txBody>" + slideText(text) + "</a:txBody></a:tc>"
	}
	const number = `<a:buAutoNum type="romanUcPeriod" startAt="4"/>`
	for name, c := range map[string]struct{ shapes, want string }{
		"title":                 {slideShape("", slideText("text")) + slideShape(`type="ctrTitle"`, "<a:p><a:r><a:t>A_x000B_long</a:t></a:r><a:br/><a:r><a:t>title</a:t></a:r></a:p>"), "## A long title\n\ntext"},
		"no title":              {slideShape("", slideText("text")), "## Slide 1\n\ntext"},
		"an empty slide":        {slideShape(`type="title"`, "<a:p/>"), ""},
		"bullets of the master": {slideShape(`idx="1"`, slideText("a")+slideLine(` lvl="1"`, "", "b")+slideLine("", "<a:buNone/>", "c")+slideText("")+slideText("d")), "## Slide 1\n\n- a\n\nb\n\nc\n\n- d"},
		"bullets of the layout": {slideShape(`type="body" idx="3"`, slideText("a")), "## Slide 1\n\na"},
		"bullets of the shape":  {slideShape("", `<a:lstStyle><a:lvl1pPr><a:buChar char="-"/></a:lvl1pPr></a:lstStyle>`+slideText("a")+slideLine(` lvl="2"`, "<a:buBlip/>", "b")), "## Slide 1\n\n- a\n  - b"},
		"numbers":               {slideShape("", slideLine("", number, "a")+slideLine("", number, "b")+slideLine(` lvl="1"`, `<a:buAutoNum type="arabicPeriod"/>`, "c")+slideText("d")+slideLine("", number, "e")), "## Slide 1\n\n- IV. a\n- V. b\n  1. c\n\nd\n\n- IV. e"},
		"runs":                  {slideShape("", `<a:p><a:r><a:rPr b="1"/><a:t>bold</a:t></a:r><a:r><a:t> and </a:t></a:r><a:r><a:rPr i="1"><a:hlinkClick r:id="r2"/></a:rPr><a:t>link</a:t></a:r><a:fld type="slidenum"><a:t>8</a:t></a:fld></a:p>`), "## Slide 1\n\n**bold** and [link](https://example.org)"},
		"places of the layout":  {slideShape(`idx="1"`, slideText("below")) + slideShape(`idx="2"`, slideText("above")), "## Slide 1\n\n- above\n\n- below"},
		"rows":                  {slideShapeAt("", "50 0 40 10", slideText("b")) + slideShapeAt("", "0 1 40 10", slideText("a")) + slideShapeAt("", "0 20 90 10", slideText("c")), "## Slide 1\n\na\n\nb\n\nc"},
		"columns":               {slideShapeAt("", "50 5 40 10", slideText("c")) + slideShapeAt("", "0 0 40 10", slideText("a")) + slideShapeAt("", "50 16 40 10", slideText("d")) + slideShapeAt("", "0 11 40 10", slideText("b")), "## Slide 1\n\na\n\nb\n\nc\n\nd"},
		"groups": {slideShapeAt("", "0 50 10 10", slideText("last")) + "<p:grpSp><p:grpSpPr>" + slidePlace("0 0 90 20") + "</p:grpSpPr>" + slideShapeAt("", "0 950 10 10", slideText("second")) + slideShapeAt("", "0 900 10 10", slideText("first")) + "</p:grpSp>",
			"## Slide 1\n\nfirst\n\nsecond\n\nlast"},
		"hidden shapes":     {strings.Replace(slideShape("", slideText("unseen")), `id="2"`, `id="2" hidden="1"`, 1) + `<p:grpSp><p:nvGrpSpPr><p:cNvPr hidden="true"/></p:nvGrpSpPr>` + slideShape("", slideText("unseen")) + "</p:grpSp>" + slideShape("", slideText("seen")), "## Slide 1\n\nseen"},
		"pictures":          {`<p:pic><p:nvPicPr><p:cNvPr descr="A mill"/></p:nvPicPr></p:pic><p:pic><p:nvPicPr><p:cNvPr descr="x.jpeg"/></p:nvPicPr></p:pic>`, "## Slide 1\n\nA mill"},
		"table":             {frame("<a:tbl><a:tr>" + cell("", "A") + cell(`gridSpan="2"`, "B") + cell(`hMerge="1"`, "") + "</a:tr><a:tr>" + cell(`rowSpan="2"`, "x") + cell("", "1") + cell("", "2") + "</a:tr><a:tr>" + cell(`vMerge="1"`, "") + cell("", "3") + cell("", "4") + "</a:tr></a:tbl>"), "## Slide 1\n\n| A | B | B |\n| --- | --- | --- |\n| x | 1 | 2 |\n| x | 3 | 4 |"},
		"header of two":     {frame("<a:tbl><a:tr>" + cell(`rowSpan="2"`, "A") + cell(`gridSpan="2"`, "B") + cell(`hMerge="1"`, "") + "</a:tr><a:tr>" + cell(`vMerge="1"`, "") + cell("", "1") + cell("", "2") + "</a:tr><a:tr>" + cell("", "x") + cell("", "3") + cell("", "4") + "</a:tr></a:tbl>"), "## Slide 1\n\n| A | B 1 | B 2 |\n| --- | --- | --- |\n| x | 3 | 4 |"},
		"chart and diagram": {frame(`<c:chart r:id="r5"/>`) + frame(`<dgm:relIds r:dm="r6"/>`), "## Slide 1\n\nSales\n\n- one\n  - two"},
		"formula":           {`<mc:AlternateContent><mc:Choice Requires="a14">` + slideShape("", "<a:p><a14:m><m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></a14:m></a:p>") + `</mc:Choice><mc:Fallback>` + slideShape("", slideText("picture")) + `</mc:Fallback></mc:AlternateContent>`, "## Slide 1\n\nx^2"},
		"fallback":          {`<mc:AlternateContent><mc:Choice Requires="p14"><p:contentPart/></mc:Choice><mc:Fallback>` + slideShape("", slideText("old")) + `</mc:Fallback></mc:AlternateContent>`, "## Slide 1\n\nold"},
		"footers":           {slideShape(`type="ftr"`, slideText("Firm")) + slideShape(`type="sldNum"`, slideText("8")) + slideShape(`type="dt"`, `<a:p><a:fld type="datetime1"><a:t>1.1.2024</a:t></a:fld></a:p>`) + slideShape(`type="dt"`, slideText("May 2024")) + slideShape("", slideText("x")), "## Slide 1\n\nx\n\nFirm\nMay 2024"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := mustRead(t, ooxml.ReadSlides, pack(t, slideParts(c.shapes)))
			if diff := cmp.Diff(c.want, markdown(draft)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, block := range draft.Blocks {
				if block.Page != 1 && !strings.HasPrefix(block.Text, "Firm") {
					t.Errorf("%q is on page %d", block.Text, block.Page)
				}
			}
		})
	}
}

func TestSlidesInTheOrderTheyAreShown(t *testing.T) {
	t.Parallel()
	parts := slideParts(slideShape(`type="title"`, slideText("First file")))
	parts["ppt/slides/slide2.xml"] = `<p:sld show="0"><p:cSld><p:spTree>` + slideShape(`type="title"`, slideText("Second file")) + `</p:spTree></p:cSld></p:sld>`
	parts["ppt/presentation.xml"] = `<p:presentation><p:sldIdLst><p:sldId id="1" r:id="r2"/><p:sldId id="2" r:id="r1"/></p:sldIdLst><x:sldIdLst><x:sldId r:id="r1"/></x:sldIdLst></p:presentation>`
	draft := mustRead(t, ooxml.ReadSlides, pack(t, parts))
	if got := markdown(draft); got != "## Second file\n\n## First file" || draft.Title != "Second file" || draft.Pages != 2 || draft.Blocks[1].Page != 2 {
		t.Errorf("%q %+v", got, draft)
	}
	for name, presentation := range map[string]string{"no list": "<p:presentation/>", "a broken list": "<p:presentation><p:sldIdLst", "other ids": `<p:presentation><p:sldId r:id="zz"/></p:presentation>`} {
		parts["ppt/presentation.xml"] = presentation
		if got := markdown(mustRead(t, ooxml.ReadSlides, pack(t, parts))); got != "## First file\n\n## Second file" {
			t.Errorf("%s: %q", name, got)
		}
	}
	parts["ppt/_rels/presentation.xml.rels"] = ""
	if got := markdown(mustRead(t, ooxml.ReadSlides, pack(t, parts))); got != "## First file\n\n## Second file" {
		t.Errorf("without relationships: %q", got)
	}
}

func TestSlideNotesAndComments(t *testing.T) {
	t.Parallel()
	parts := slideParts(slideShape("", slideText("text")))
	parts["ppt/notes/n.xml"] = `<p:notes><p:cSld><p:spTree>` + slideShape(`type="sldImg"`, "") + slideShape(`type="body"`, slideText("Say this.")+slideText("And that.")) +
		slideShape(`type="sldNum"`, slideText("1")) + slideShape(`type="hdr"`, slideText("Course")) + `</p:spTree></p:cSld></p:notes>`
	parts["ppt/comments/c.xml"] = `<p:cmLst><p:cm authorId="7"><p:text>Why
so?</p:text></p:cm><p:cm authorId="9"><p:text>Unknown.</p:text></p:cm></p:cmLst>`
	parts["ppt/authors.xml"] = `<p:cmAuthorLst><p:cmAuthor id="7" name="Ada"/></p:cmAuthorLst>`
	if got := markdown(mustRead(t, ooxml.ReadSlides, pack(t, parts))); got != "## Slide 1\n\ntext\n\nNotes: Say this.\nAnd that.\n\n> Ada: Why so?\n\n> Unknown.\n\nCourse" {
		t.Errorf("%q", got)
	}
	parts["ppt/comments/c.xml"] = `<x:cmLst><x:cm authorId="7"><x:replyLst><x:reply authorId="8"><x:txBody><a:p><a:r><a:t>Yes.</a:t></a:r></a:p></x:txBody></x:reply></x:replyLst><x:txBody><a:p><a:r><a:t>So?</a:t></a:r></a:p></x:txBody></x:cm></x:cmLst>`
	parts["ppt/authors.xml"] = `<x:authorLst><x:author id="7" name="Ada"/><x:author id="8" name="Bea"/></x:authorLst>`
	if got := markdown(mustRead(t, ooxml.ReadSlides, pack(t, parts))); !strings.Contains(got, "> Ada: So?\n\n> Bea: Yes.") {
		t.Errorf("%q", got)
	}
}

func TestSlidesWithBrokenParts(t *testing.T) {
	t.Parallel()
	shapes := slideShape(`type="title"`, slideText("Title")) + slideShape(`idx="1"`, slideText("text"))
	for name, c := range map[string]struct {
		change        func(map[string]string)
		text, damaged string
	}{
		"whole":     {func(map[string]string) {}, "## Title\n\n- text", ""},
		"layout":    {func(p map[string]string) { p["ppt/slideLayouts/l.xml"] = "<p:" }, "## Title\n\n- text", "a layout"},
		"no layout": {func(p map[string]string) { p["ppt/slideLayouts/l.xml"] = "" }, "## Title\n\n- text", ""},
		"notes":     {func(p map[string]string) { p["ppt/notes/n.xml"] = "<p:notes>" }, "## Title\n\n- text", "the notes of slide 1"},
		"links":     {func(p map[string]string) { p["ppt/slides/_rels/slide1.xml.rels"] = "<a" }, "## Title\n\n- text", "links of slide 1"},
		"a missing slide": {func(p map[string]string) {
			p["ppt/presentation.xml"] = `<p:presentation><p:sldId r:id="r1"/><p:sldId r:id="r2"/></p:presentation>`
		}, "## Title\n\n- text", "slide 2 (it is missing)"},
		"a slide that breaks off": {func(p map[string]string) {
			p["ppt/slides/slide1.xml"] = strings.Split(p["ppt/slides/slide1.xml"], "xt</a:t>")[0]
		}, "## Title\n\n- te", "slide 1 (slide1.xml: invalid XML"},
	} {
		parts := slideParts(shapes)
		c.change(parts)
		draft := mustRead(t, ooxml.ReadSlides, pack(t, parts))
		damaged, _ := draft.Extra["damaged"].(string)
		if got := markdown(draft); got != c.text || (c.damaged == "") != (damaged == "") || !strings.HasPrefix(damaged, c.damaged) {
			t.Errorf("%s: %q, damaged %q", name, got, damaged)
		}
	}
	parts := slideParts("")
	parts["ppt/slides/slide1.xml"] = "<p:sld>"
	_, err := ooxml.ReadSlides(t.Context(), source(pack(t, parts), document.Limits{}))
	if _, ok := errors.AsType[*document.DamagedError](err); !ok {
		t.Errorf("without text: %v", err)
	}
	if draft := mustRead(t, ooxml.ReadSlides, pack(t, slideParts(""))); len(draft.Blocks) != 0 || draft.Extra["damaged"] != nil {
		t.Errorf("well-formed and empty: %+v", draft)
	}
}

func TestSlidesOfHostileSizes(t *testing.T) {
	t.Parallel()
	grouped := strings.Repeat("<p:grpSp>", 4000) + slideShape("", slideText("deep")) + strings.Repeat("</p:grpSp>", 4000)
	staircase := slideShape("", slideText("deep"))
	for i := range 900 {
		staircase += slideShapeAt("", fmt.Sprintf("%d %d 1000000 1000000", i, 900-i), slideText("x"))
	}
	for name, shapes := range map[string]string{
		"groups": grouped, "overlapping shapes": staircase, "many shapes": strings.Repeat(slideShape("", slideText("deep")), 20_000),
		"places": slideShapeAt("", "0 0 1 1", slideText("deep")) + strings.ReplaceAll(slideShapeAt("", "7 7 7 7", slideText("x")), `"7"`, `"999999999999999999"`),
	} {
		draft, err := ooxml.ReadSlides(t.Context(), source(pack(t, slideParts(shapes)), document.Limits{MaxRatio: 1 << 40}))
		if err != nil || !strings.Contains(markdown(draft), "deep") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSlideLimits(t *testing.T) {
	t.Parallel()
	many := slideParts(slideShape("", slideText("x")))
	many["ppt/presentation.xml"] = `<p:presentation>` + strings.Repeat(`<p:sldId r:id="r1"/>`, 30) + `</p:presentation>`
	for name, c := range map[string]struct {
		parts  map[string]string
		limits document.Limits
	}{
		"text":     {slideParts(slideShape("", slideText(strings.Repeat("word ", 1000)))), document.Limits{MaxText: 1000}},
		"slides":   {many, document.Limits{MaxPages: 20}},
		"expanded": {slideParts(slideShape("", slideText(strings.Repeat("word ", 1000)))), document.Limits{MaxExpanded: 1000}},
	} {
		_, err := ooxml.ReadSlides(t.Context(), source(pack(t, c.parts), c.limits))
		if _, ok := errors.AsType[*document.LimitError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
