package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// assemble gives the blocks of the body their anchors and pages, without those that are empty or that repeat headings as
// entries of a table of contents.
func (r *reader) assemble() []document.Block {
	r.root.main.Flush()
	blocks := r.root.main.Blocks
	if len(r.headers) > 0 {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(r.headers, "\n")})
	}
	repeated := wordmodel.RepeatedContents(blocks, r.contents)
	prose := r.monoText*2 > r.allText
	kept := make([]document.Block, 0, len(blocks))
	anchors := make(document.Anchors)
	for i, block := range blocks {
		mark := block.Language
		block.Language = ""
		if !r.paged() {
			block.Page = 0
		}
		switch {
		case repeated[i] || block.Blank():
			continue
		case mark == byFont && prose:
			kept = append(kept, paragraphs(block)...)
			continue
		case block.Kind == document.Heading:
			block.Anchor = anchors.Take("", block.Text)
		}
		kept = append(kept, block)
	}
	return kept
}

// longLine is from how many bytes on a line was not broken to fit a page.
const longLine = 120

// paragraphs makes prose of what was taken for code, in a file that is written in one such font.
func paragraphs(code document.Block) []document.Block {
	var made []document.Block
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			made = append(made, document.Block{Kind: document.Paragraph, Text: text, Page: code.Page})
		}
	}
	for part := range strings.SplitSeq(code.Text, "\n\n") {
		lines := strings.Split(part, "\n")
		long := false
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
			long = long || len(lines[i]) > longLine
		}
		if !long {
			add(strings.Join(lines, "\n"))
			continue
		}
		for _, line := range lines {
			add(line)
		}
	}
	return made
}
