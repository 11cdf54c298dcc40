package ole

import (
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

const (
	// maxNesting is how deep tables are nested. The text of deeper ones belongs to the cell around them.
	maxNesting = 8
	// edgeTolerance is how far apart the edges of the cells of a column may be, in twentieths of a point.
	edgeTolerance = 60
)

// table is a table that is being read.
type table struct {
	rows  []tableRow
	cells [][]document.Block // of the open row
	cell  wordmodel.Flow
}

type tableRow struct {
	cells  [][]document.Block
	format rowFormat
}

// endCell ends the open cell.
func (t *table) endCell() {
	t.cells = append(t.cells, t.cell.Finish())
	t.cell = wordmodel.Flow{}
}

// endRow ends the open row.
func (t *table) endRow(format rowFormat) {
	if blocks := t.cell.Finish(); len(blocks) > 0 {
		t.cells = append(t.cells, blocks)
	}
	t.cell = wordmodel.Flow{}
	if len(t.cells) > 0 {
		t.rows = append(t.rows, tableRow{cells: t.cells, format: format})
	}
	t.cells = nil
}

// blocks returns the table. A table that only arranges the page is replaced by the content of its cells.
func (t *table) blocks() []document.Block {
	t.endRow(rowFormat{})
	if t.isLayout() {
		var blocks []document.Block
		for i := range t.rows {
			for _, cell := range t.rows[i].cells {
				blocks = append(blocks, cell...)
			}
		}
		return blocks
	}
	columns := t.columns()
	var table wordmodel.TableBuilder
	var above []string
	for i := range t.rows {
		row := &t.rows[i]
		texts, blank := row.texts(columns, above)
		above = texts
		if blank {
			continue
		}
		table.Add(texts, row.format.isHeader)
	}
	if block, ok := table.Build(0); ok {
		return []document.Block{block}
	}
	return nil
}

// isLayout reports whether a table only arranges the page. Such a table is a single cell, or a cell outside of the
// first row contains a heading, or a cell contains code of several lines, or the cells of a single row or column
// contain more than a paragraph.
func (t *table) isLayout() bool {
	columns, hasMany := 0, false
	for i := range t.rows {
		columns = max(columns, len(t.rows[i].cells))
		for _, cell := range t.rows[i].cells {
			hasMany = hasMany || len(cell) > 1
			for k := range cell {
				switch cell[k].Kind {
				case document.Heading:
					if i > 0 {
						return true
					}
				case document.Code:
					if strings.Contains(cell[k].Text, "\n") {
						return true
					}
				case document.List, document.Table, document.Quote:
					hasMany = true
				case document.Paragraph:
				}
			}
		}
	}
	return columns <= 1 && len(t.rows) <= 1 || hasMany && (columns <= 1 || len(t.rows) == 1)
}

// columns returns the left edges of the columns, from the edges of all cells. It is nil if the rows are too different.
// Cells are then counted.
func (t *table) columns() []int {
	var edges []int
	widest := 0
	for i := range t.rows {
		row := &t.rows[i]
		widest = max(widest, len(row.cells))
		if row.format.count != len(row.cells) {
			return nil
		}
		for cell := range row.cells {
			edges = append(edges, row.format.edge(cell))
		}
	}
	slices.Sort(edges)
	var columns []int
	for _, edge := range edges {
		if n := len(columns); n == 0 || edge-columns[n-1] > edgeTolerance {
			columns = append(columns, edge)
		}
	}
	if len(columns) > widest+widest/2+1 || len(columns) > document.MaxColumns {
		return nil
	}
	return columns
}

// texts returns the cells of a row by column. A cell that is merged with the one above repeats its text if that is
// short.
func (r *tableRow) texts(columns []int, above []string) (texts []string, blank bool) {
	blank = true
	for i, cell := range r.cells {
		at := len(texts)
		if columns != nil {
			next, _ := slices.BinarySearch(columns, r.format.edge(i)-edgeTolerance)
			at = max(at, next)
		}
		if i >= document.MaxColumns {
			at = document.MaxColumns - 1
		}
		for len(texts) <= at {
			texts = append(texts, "")
		}
		text := wordmodel.Flatten(cell)
		if r.format.continuesAbove(i) && text == "" && at < len(above) && len(above[at]) <= wordmodel.MaxRepeatedCell {
			texts[at] = above[at]
			continue
		}
		if text != "" {
			blank = false
			texts[at] = strings.TrimSpace(texts[at] + " " + text)
		}
	}
	return texts, blank
}
