package rtf

import (
	"slices"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// edgeTolerance is how far apart the edges of the cells of a column may be, in twips.
const edgeTolerance = 30

// cellDefinition is the definition of a cell in that of a row.
type cellDefinition struct {
	right          int  // right edge in twips
	continuesAbove bool // merged with the cell above
}

// A table collects the rows of a table. The zero value is empty.
type table struct {
	rows []tableRow
	open []cell         // of the open row
	cell wordmodel.Flow // the open cell
}

type cell struct{ blocks []document.Block }

type tableRow struct {
	cells       []cell
	definitions []cellDefinition
	left        int
	isHeader    bool
}

// hasContent reports whether the table contains anything.
func (t *table) hasContent() bool {
	return len(t.rows) > 0 || len(t.open) > 0 || !t.cell.IsEmpty()
}

// endCell ends the open cell.
func (t *table) endCell() {
	t.cell.Flush()
	t.open = append(t.open, cell{blocks: t.cell.Blocks})
	t.cell = wordmodel.Flow{}
}

// endRow ends the open row.
func (t *table) endRow(definitions []cellDefinition, left int, header bool) {
	if !t.cell.IsEmpty() {
		t.endCell()
	}
	if len(t.open) == 0 {
		return
	}
	row := tableRow{cells: t.open, left: left, isHeader: header}
	if len(definitions) == len(t.open) {
		row.definitions = slices.Clone(definitions)
	}
	t.rows = append(t.rows, row)
	t.open = nil
}

// finish returns the table and empties it. A table that only arranges the page is replaced by the content of its cells.
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
		made.Add(row, rows[i].isHeader)
	}
	if block, ok := made.Build(page); ok {
		return []document.Block{block}
	}
	return nil
}

// isLayout reports whether a table only arranges the page. Such a table is a single cell, or a cell contains a heading
// or code, or the cells of a single row or column contain more than a paragraph.
func isLayout(rows []tableRow) bool {
	columns, hasMany := 0, false
	for i := range rows {
		columns = max(columns, len(rows[i].cells))
		for _, c := range rows[i].cells {
			for k := range c.blocks {
				if kind := c.blocks[k].Kind; kind == document.Heading || kind == document.Code && c.blocks[k].Language != byFont {
					return true
				}
			}
			hasMany = hasMany || len(c.blocks) > 1 || len(c.blocks) == 1 && c.blocks[0].Kind != document.Paragraph
		}
	}
	isSingle := len(rows) == 1 || columns == 1
	return len(rows) == 1 && columns == 1 || isSingle && hasMany
}

// columnEdges returns the left edges of the columns, from the edges of all cells. It is nil if they are unknown.
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
		if len(edges) == 0 || edge-edges[len(edges)-1] > edgeTolerance {
			edges = append(edges, edge)
		}
	}
	if len(edges) > document.MaxColumns {
		return nil
	}
	return edges
}

// texts returns the cells of a row by column. A cell that is merged with the one above repeats its text if that is
// short.
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
		case text == "" && definition.continuesAbove && at < len(above) && len(above[at]) <= wordmodel.MaxRepeatedCell:
			texts[at] = above[at]
		case text == "":
		default:
			blank = false
			texts[at] = text
		}
	}
	return texts, blank
}
