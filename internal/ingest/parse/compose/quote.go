package compose

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Quote emits the text of a quotation as Quote blocks, and the code, tables and headings between as they are.
func Quote(blocks []document.Block, emit func(document.Block)) {
	var parts []string
	flush := func() {
		if len(parts) > 0 {
			emit(document.Block{Kind: document.Quote, Text: strings.Join(parts, "\n\n")})
			parts = nil
		}
	}
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case document.Paragraph, document.List, document.Quote:
			parts = append(parts, block.Markdown())
		case document.Heading, document.Code, document.Table:
			flush()
			emit(*block)
		}
	}
	flush()
}

// Titled puts a bold label before the blocks of an admonition.
func Titled(label string, blocks []document.Block) []document.Block {
	if label == "" {
		return blocks
	}
	if len(blocks) > 0 && blocks[0].Kind == document.Paragraph && len(label) < 20 {
		blocks[0].Text = "**" + label + ":** " + blocks[0].Text
		return blocks
	}
	return append([]document.Block{{Kind: document.Paragraph, Text: "**" + label + "**"}}, blocks...)
}

// Labelled puts a label before the text of the first block.
func Labelled(label string, blocks []document.Block) []document.Block {
	if len(blocks) > 0 && blocks[0].Kind == document.Paragraph {
		blocks[0].Text = label + blocks[0].Text
		return blocks
	}
	return append([]document.Block{{Kind: document.Paragraph, Text: strings.TrimSpace(label)}}, blocks...)
}

// AdmonitionLabel returns the label of an admonition of AsciiDoc or GitHub, or "" for other words.
func AdmonitionLabel(label string) string {
	switch label {
	case "NOTE", "TIP", "IMPORTANT", "CAUTION", "WARNING":
		return label[:1] + strings.ToLower(label[1:])
	}
	return ""
}
