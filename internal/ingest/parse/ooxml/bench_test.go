package ooxml_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ooxml"
)

// longWord is a document of so many pages of 500 words, written as word processors write it: runs of a few words, each with
// its properties.
func longWord(b *testing.B, pages int) []byte {
	b.Helper()
	const run = `<w:r w:rsidR="00D90D12" w:rsidRPr="005844A8"><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri" w:cs="Calibri"/><w:sz w:val="22"/><w:lang w:val="en-GB"/></w:rPr>` +
		`<w:t xml:space="preserve">five words stand in here </w:t></w:r>`
	var body strings.Builder
	for page := range pages {
		body.WriteString(inStyle("berschrift1", "Chapter "+strconv.Itoa(page)))
		for range 8 {
			body.WriteString(`<w:p w:rsidR="00D90D12" w:rsidRDefault="005844A8"><w:pPr><w:spacing w:after="120"/><w:jc w:val="both"/></w:pPr>` + strings.Repeat(run, 11) + `</w:p>`)
		}
		body.WriteString(`<w:tbl>` + strings.Repeat(`<w:tr><w:tc><w:tcPr><w:tcW w:w="2000"/></w:tcPr>`+wordParagraph("left")+`</w:tc><w:tc>`+wordParagraph("right")+`</w:tc></w:tr>`, 5) + `</w:tbl>`)
		body.WriteString("<w:p><w:r><w:lastRenderedPageBreak/></w:r></w:p>")
	}
	return pack(b, wordParts(body.String()))
}

func BenchmarkReadWord(b *testing.B) {
	for _, pages := range []int{10, 200} {
		b.Run(strconv.Itoa(pages)+" pages", func(b *testing.B) {
			content := longWord(b, pages)
			draft := mustRead(b, ooxml.ReadWord, content)
			b.SetBytes(int64(len(markdown(draft))))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ooxml.ReadWord(b.Context(), source(content, document.Limits{})); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(pages)*float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
}

func BenchmarkReadSlides(b *testing.B) {
	shapes := slideShape(`type="title"`, slideText("Title")) + slideShape(`idx="1"`, strings.Repeat(slideText("a line of a few words"), 12)) +
		slideShape(`idx="2"`, strings.Repeat(slideLine(` lvl="1"`, `<a:buChar char="•"/>`, "a line of a few words"), 12))
	parts := slideParts(shapes)
	parts["ppt/presentation.xml"] = `<p:presentation>` + strings.Repeat(`<p:sldId r:id="r1"/>`, 100) + `</p:presentation>`
	content := pack(b, parts)
	b.SetBytes(int64(len(markdown(mustRead(b, ooxml.ReadSlides, content)))))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ooxml.ReadSlides(b.Context(), source(content, document.Limits{})); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "slides/s")
}
