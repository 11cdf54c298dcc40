package ooxml

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// maxSpan is how many columns a cell may span.
const maxSpan = 64

// A grid collects the cells of a table.
type grid struct {
	rows []gridRow
}

type gridRow struct {
	cells    []gridCell
	next     int // column of the next cell
	isHeader bool
}

// A gridCell is a cell and its content.
type gridCell struct {
	column, span   int
	continuesAbove bool // merged with the cell above
	continuesLeft  bool // merged with the cell to the left
	blocks         []document.Block
}

// addRow starts a row.
func (g *grid) addRow() { g.rows = append(g.rows, gridRow{}) }

// skipColumns leaves out columns of the last row.
func (g *grid) skipColumns(columns int) {
	row := &g.rows[len(g.rows)-1]
	row.next = min(row.next+max(columns, 0), document.MaxColumns-1)
}

// addCell adds a cell to the last row and returns how many columns the row now has. The content of cells after
// document.MaxColumns goes into the last cell.
func (g *grid) addCell(c gridCell) int {
	row := &g.rows[len(g.rows)-1]
	if last := len(row.cells) - 1; row.next >= document.MaxColumns && last >= 0 {
		row.cells[last].blocks = append(row.cells[last].blocks, c.blocks...)
		return row.next
	}
	c.span = min(max(c.span, 1), maxSpan)
	c.column = min(row.next, document.MaxColumns-1)
	row.next = c.column + c.span
	row.cells = append(row.cells, c)
	return row.next
}

// dropRow removes the last row.
func (g *grid) dropRow() { g.rows = g.rows[:len(g.rows)-1] }

// blocks returns the table. A table that only arranges the page is replaced by the content of its cells.
func (g *grid) blocks() []document.Block {
	var blocks []document.Block
	for g.hasCaption() {
		blocks = append(blocks, g.rows[0].cells[0].blocks...)
		g.rows = g.rows[1:]
	}
	if g.isLayout() {
		for i := range g.rows {
			for j := range g.rows[i].cells {
				blocks = append(blocks, g.rows[i].cells[j].blocks...)
			}
		}
		return blocks
	}
	var table wordmodel.TableBuilder
	var above []string
	for i := range g.rows {
		row := &g.rows[i]
		texts, blank := row.texts(above)
		above = texts
		if blank {
			continue
		}
		isMarked := row.isHeader || i == 1 && g.hasSplitHeader()
		if table.NextIsHeader(isMarked) {
			row.spreadSpans(texts)
		}
		table.Add(texts, isMarked)
	}
	if block, ok := table.Build(g.page()); ok {
		blocks = append(blocks, block)
	}
	return blocks
}

// hasSplitHeader reports whether the first two rows are the header: each cell of the first row either is merged with
// the one below or spans several columns.
func (g *grid) hasSplitHeader() bool {
	if len(g.rows) < 3 {
		return false
	}
	down, across := 0, 0
	cells := g.rows[0].cells
	for i := range cells {
		switch {
		case cells[i].continuesLeft:
		case cells[i].span > 1 || i+1 < len(cells) && cells[i+1].continuesLeft:
			across++
		case g.rows[1].continuesAbove(cells[i].column):
			down++
		default:
			return false
		}
	}
	return down > 0 && across > 0
}

// continuesAbove reports whether the cell in a column is merged with the cell above.
func (r *gridRow) continuesAbove(column int) bool {
	for i := range r.cells {
		if r.cells[i].column == column {
			return r.cells[i].continuesAbove
		}
	}
	return false
}

// page returns the page on which the text of the table begins.
func (g *grid) page() int {
	for i := range g.rows {
		for j := range g.rows[i].cells {
			if blocks := g.rows[i].cells[j].blocks; len(blocks) > 0 {
				return blocks[0].Page
			}
		}
	}
	return 0
}

// hasCaption reports whether the first row is a caption: a single cell over all columns.
func (g *grid) hasCaption() bool {
	if len(g.rows) < 2 || len(g.rows[0].cells) != 1 || len(g.rows[1].cells) < 2 {
		return false
	}
	c := &g.rows[0].cells[0]
	return c.column == 0 && c.span >= g.rows[1].next
}

// isLayout reports whether a table only arranges the page. Such a table is a single cell, or a cell contains a heading
// (outside of a header of headings) or code of several lines, or the cells of a single row or column contain more than
// a paragraph.
func (g *grid) isLayout() bool {
	columns, hasMany := 0, false
	hasHeadings := g.hasHeadings()
	for i := range g.rows {
		columns = max(columns, len(g.rows[i].cells))
		for j := range g.rows[i].cells {
			blocks := g.rows[i].cells[j].blocks
			for k := range blocks {
				switch blocks[k].Kind {
				case document.Heading:
					if i > 0 || !hasHeadings {
						return true
					}
				case document.Code:
					if strings.Contains(blocks[k].Text, "\n") {
						return true
					}
				case document.List, document.Table, document.Quote:
					hasMany = true
				case document.Paragraph:
				}
			}
			hasMany = hasMany || len(blocks) > 1
		}
	}
	isSingle := len(g.rows) == 1 || columns == 1
	return len(g.rows) == 1 && columns == 1 || hasMany && (isSingle || hasHeadings)
}

// hasHeadings reports whether the cells of the first row are headings: the titles of the columns.
func (g *grid) hasHeadings() bool {
	if len(g.rows) < 2 || len(g.rows[0].cells) < 2 {
		return false
	}
	titles := 0
	for i := range g.rows[0].cells {
		blocks := g.rows[0].cells[i].blocks
		switch {
		case len(blocks) == 0:
		case len(blocks) == 1 && blocks[0].Kind == document.Heading:
			titles++
		default:
			return false
		}
	}
	return titles > 1
}

// texts returns the cells of a row by column. A cell that is merged with the one above repeats its text if that is
// short.
func (r *gridRow) texts(above []string) (texts []string, blank bool) {
	blank = true
	for i := range r.cells {
		c := &r.cells[i]
		for len(texts) < min(c.column+c.span, document.MaxColumns) {
			texts = append(texts, "")
		}
		text := wordmodel.Flatten(c.blocks)
		if c.continuesAbove && text == "" && c.column < len(above) && len(above[c.column]) <= wordmodel.MaxRepeatedCell {
			texts[c.column] = above[c.column]
			continue
		}
		if text != "" {
			blank = false
			texts[c.column] = strings.TrimSpace(texts[c.column] + " " + text)
		}
	}
	return texts, blank
}

// spreadSpans repeats the text of a header cell in all columns that it spans.
func (r *gridRow) spreadSpans(texts []string) {
	for i := range r.cells {
		c := &r.cells[i]
		if c.continuesLeft && c.column > 0 && texts[c.column] == "" {
			texts[c.column] = texts[c.column-1]
		}
		for at := c.column + 1; at < min(c.column+c.span, len(texts)); at++ {
			if texts[at] == "" {
				texts[at] = texts[c.column]
			}
		}
	}
}
