package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// assemble returns the blocks of the body with anchors and pages, without empty blocks and repeated entries of a table
// of contents.
func (r *reader) assemble() []document.Block {
	r.root.main.Flush()
	blocks := r.root.main.Blocks
	if len(r.headers) > 0 {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(r.headers, "\n")})
	}
	repeated := wordmodel.RepeatedContents(blocks, r.contents)
	isMono := r.monoText*2 > r.allText
	kept := make([]document.Block, 0, len(blocks))
	anchors := make(document.Anchors)
	for i, block := range blocks {
		mark := block.Language
		block.Language = ""
		if !r.hasPages() {
			block.Page = 0
		}
		switch {
		case repeated[i] || block.Blank():
			continue
		case mark == byFont && isMono:
			kept = append(kept, paragraphs(block)...)
			continue
		case block.Kind == document.Heading:
			block.Anchor = anchors.Take("", block.Text)
		}
		kept = append(kept, block)
	}
	return kept
}

// longLine is the length, in bytes, of lines that were not broken to fit a page.
const longLine = 120

// paragraphs splits code into paragraphs. The code is only recognized by its font, and most text of the file has that
// font.
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
