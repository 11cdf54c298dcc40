package rtf

import (
	"slices"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// tolerance is how far apart two edges of cells, in twips, may be to be the same column's.
const tolerance = 30

// cellDefinition is what a row's definition says of a cell.
type cellDefinition struct {
	right int  // its right edge in twips
	below bool // goes on from the cell above
}

// table collects the rows of one table. The zero value is empty.
type table struct {
	rows []tableRow
	open []cell         // of the row that is read
	cell wordmodel.Flow // the cell that is read
}

type cell struct{ blocks []document.Block }

type tableRow struct {
	cells       []cell
	definitions []cellDefinition
	left        int
	header      bool
}

// begun tells that something was read that belongs to the table.
func (t *table) begun() bool {
	return len(t.rows) > 0 || len(t.open) > 0 || !t.cell.IsEmpty()
}

// endCell ends the cell that is open.
func (t *table) endCell() {
	t.cell.Flush()
	t.open = append(t.open, cell{blocks: t.cell.Blocks})
	t.cell = wordmodel.Flow{}
}

// endRow ends the row that is open, which is defined by definitions.
func (t *table) endRow(definitions []cellDefinition, left int, header bool) {
	if !t.cell.IsEmpty() {
		t.endCell()
	}
	if len(t.open) == 0 {
		return
	}
	row := tableRow{cells: t.open, left: left, header: header}
	if len(definitions) == len(t.open) {
		row.definitions = slices.Clone(definitions)
	}
	t.rows = append(t.rows, row)
	t.open = nil
}

// finish returns the table, or what stands in its cells where it only arranges the page, and empties it.
func (t *table) finish() []document.Block {
	t.endRow(nil, 0, false)
	rows := t.rows
	t.rows = nil
	if isLayout(rows) {
		var blocks []document.Block
		for i := range rows {
			for _, c := range rows[i].cells {
				blocks = append(blocks, c.blocks...)
			}
		}
		return blocks
	}
	edges := columnEdges(rows)
	var made wordmodel.TableBuilder
	var above []string
	page := 0
	for i := range rows {
		row, blank := rows[i].texts(edges, above)
		above = row
		for _, c := range rows[i].cells {
			if page == 0 && len(c.blocks) > 0 {
				page = c.blocks[0].Page
			}
		}
		if blank {
			continue
		}
		made.Add(row, rows[i].header)
	}
	if block, ok := made.Build(page); ok {
		return []document.Block{block}
	}
	return nil
}

// isLayout recognises tables that arrange a page: a single cell, cells that hold headings or code, and a single row or
// column of cells that hold more than a paragraph.
func isLayout(rows []tableRow) bool {
	columns, full := 0, false
	for i := range rows {
		columns = max(columns, len(rows[i].cells))
		for _, c := range rows[i].cells {
			for k := range c.blocks {
				if kind := c.blocks[k].Kind; kind == document.Heading || kind == document.Code && c.blocks[k].Language != byFont {
					return true
				}
			}
			full = full || len(c.blocks) > 1 || len(c.blocks) == 1 && c.blocks[0].Kind != document.Paragraph
		}
	}
	single := len(rows) == 1 || columns == 1
	return len(rows) == 1 && columns == 1 || single && full
}

// columnEdges returns the left edges of the columns, by the edges of the cells of all rows; nil where rows do not tell.
func columnEdges(rows []tableRow) []int {
	var all []int
	for i := range rows {
		if len(rows[i].definitions) == 0 {
			return nil
		}
		all = append(all, rows[i].left)
		right := rows[i].left
		for _, d := range rows[i].definitions {
			if d.right <= right {
				return nil
			}
			right = d.right
			all = append(all, right)
		}
	}
	slices.Sort(all)
	edges := all[:0]
	for _, edge := range all {
		if len(edges) == 0 || edge-edges[len(edges)-1] > tolerance {
			edges = append(edges, edge)
		}
	}
	if len(edges) > document.MaxColumns {
		return nil
	}
	return edges
}

// texts returns the cells of a row by their columns. A cell that goes on from above repeats a short text.
func (r *tableRow) texts(edges []int, above []string) (texts []string, blank bool) {
	blank = true
	left := r.left
	for i, c := range r.cells {
		at := i
		if edges != nil {
			found, _ := slices.BinarySearch(edges, left+1)
			at = max(found-1, len(texts))
		}
		for len(texts) <= at {
			texts = append(texts, "")
		}
		text := wordmodel.Flatten(c.blocks)
		var definition cellDefinition
		if i < len(r.definitions) {
			definition = r.definitions[i]
			left = definition.right
		}
		switch {
		case text == "" && definition.below && at < len(above) && len(above[at]) <= wordmodel.MaxRepeatedCell:
			texts[at] = above[at]
		case text == "":
		default:
			blank = false
			texts[at] = text
		}
	}
	return texts, blank
}
