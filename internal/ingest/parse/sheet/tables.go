package sheet

import (
	"strings"

	"magpie/internal/ingest/document"
)

// Tables collects the rows of sheets into the blocks of a document: a heading for each sheet, tables parted by empty rows,
// and lines of a single cell above a table as paragraphs. It is for one goroutine.
type Tables struct {
	blocks  []document.Block
	anchors document.Anchors
	page    int
	rows    [][]string
}

// NewTables makes an empty collection.
func NewTables() *Tables { return &Tables{anchors: make(document.Anchors)} }

// Begin starts a sheet. Sheets count as pages.
func (t *Tables) Begin(name string) {
	t.flush()
	t.page++
	t.blocks = append(t.blocks, document.Block{
		Kind: document.Heading, Level: 2, Text: name, Anchor: t.anchors.Take("", name), Page: t.page,
	})
}

// Row adds a row of the sheet; the cells are text as it is shown, Markdown escaped where that matters. Empty cells at the
// end may be left out. The row is copied.
func (t *Tables) Row(cells []string) {
	for len(cells) > 0 && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		t.flush()
		return
	}
	t.rows = append(t.rows, append([]string(nil), cells...))
}

// Blocks ends the last sheet and returns all blocks.
func (t *Tables) Blocks() []document.Block {
	t.flush()
	return t.blocks
}

// Sheets returns how many sheets were begun.
func (t *Tables) Sheets() int { return t.page }

func (t *Tables) flush() {
	rows := t.rows
	t.rows = nil
	for len(rows) > 0 && len(rows[0]) == 1 && (len(rows) == 1 || len(rows[1]) != 1) {
		t.blocks = append(t.blocks, document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(rows[0][0]), Page: t.page})
		rows = rows[1:]
	}
	if len(rows) == 0 {
		return
	}
	table := document.NewTable(rows[0], rows[1:])
	table.Page = t.page
	t.blocks = append(t.blocks, table)
}
