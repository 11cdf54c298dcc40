package compose

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// Cell returns the content of a table cell on one line.
func Cell(blocks []document.Block) string {
	var parts []string
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case document.Paragraph, document.Quote, document.Heading:
			parts = append(parts, strings.Join(strings.Fields(block.Text), " "))
		case document.List:
			parts = append(parts, listOnOneLine(block.Text))
		case document.Code:
			parts = append(parts, inline.CodeSpan(strings.Join(strings.Fields(block.Text), " ")))
		case document.Table:
			rows := make([]string, 0, len(block.Rows)+1)
			for _, row := range append([][]string{block.Header}, block.Rows...) {
				rows = append(rows, strings.ReplaceAll(strings.Join(row, ", "), "\\|", "|"))
			}
			parts = append(parts, strings.Join(rows, "; "))
		}
	}
	return strings.Join(parts, " ")
}
