package ooxml

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxSpan is how many columns a cell may reach over.
	maxSpan = 64
	// maxRepeat is how long the text of a cell may be, in bytes, to be repeated in the rows that it reaches over, so that
	// each row can be understood by itself.
	maxRepeat = 100
	// maxHeaderRows is how many rows are joined into the header of a table.
	maxHeaderRows = 4
)

// grid collects the cells of a table.
type grid struct {
	rows []gridRow
}

type gridRow struct {
	cells  []gridCell
	next   int // column of the next cell
	header bool
}

// gridCell is a cell with what stands in it.
type gridCell struct {
	at, span int
	below    bool // goes on from the cell above
	beside   bool // goes on from the cell before it
	blocks   []document.Block
}

// row begins a row whose first columns are left out.
func (g *grid) row() { g.rows = append(g.rows, gridRow{}) }

// skip leaves columns of the last row out.
func (g *grid) skip(columns int) {
	row := &g.rows[len(g.rows)-1]
	row.next = min(row.next+max(columns, 0), document.MaxColumns-1)
}

// cell appends a cell to the last row and returns how many columns that row now has. What stands beyond the columns that
// a table may have goes into the last one.
func (g *grid) cell(c gridCell) int {
	row := &g.rows[len(g.rows)-1]
	if last := len(row.cells) - 1; row.next >= document.MaxColumns && last >= 0 {
		row.cells[last].blocks = append(row.cells[last].blocks, c.blocks...)
		return row.next
	}
	c.span = min(max(c.span, 1), maxSpan)
	c.at = min(row.next, document.MaxColumns-1)
	row.next = c.at + c.span
	row.cells = append(row.cells, c)
	return row.next
}

// drop takes the last row back.
func (g *grid) drop() { g.rows = g.rows[:len(g.rows)-1] }

// blocks returns the table, or what stands in its cells where it only arranges the page.
func (g *grid) blocks() []document.Block {
	var blocks []document.Block
	for g.isCaptioned() {
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
	rows := make([][]string, 0, len(g.rows))
	headers := 0
	var above []string
	for i := range g.rows {
		row := &g.rows[i]
		texts, blank := row.texts(above)
		above = texts
		if blank {
			continue
		}
		if len(rows) == 0 || (row.header || i == 1 && g.isSplit()) && headers == len(rows) && headers < maxHeaderRows {
			headers++
			row.spread(texts)
		}
		rows = append(rows, texts)
	}
	if len(rows) == 0 {
		return blocks
	}
	table := document.NewTable(header(rows, &headers), rows[headers:])
	table.Page = g.page()
	return append(blocks, table)
}

// isSplit recognises a header of two rows: each cell of the first goes on in the second or stands above several cells.
func (g *grid) isSplit() bool {
	if len(g.rows) < 3 {
		return false
	}
	down, across := 0, 0
	cells := g.rows[0].cells
	for i := range cells {
		switch {
		case cells[i].beside:
		case cells[i].span > 1 || i+1 < len(cells) && cells[i+1].beside:
			across++
		case g.rows[1].goesOn(cells[i].at):
			down++
		default:
			return false
		}
	}
	return down > 0 && across > 0
}

// goesOn tells whether the cell in a column goes on from the cell above.
func (r *gridRow) goesOn(at int) bool {
	for i := range r.cells {
		if r.cells[i].at == at {
			return r.cells[i].below
		}
	}
	return false
}

// page returns where the text of the table begins.
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

// isCaptioned recognises a first row that is a line above the table: one cell over all columns.
func (g *grid) isCaptioned() bool {
	if len(g.rows) < 2 || len(g.rows[0].cells) != 1 || len(g.rows[1].cells) < 2 {
		return false
	}
	c := &g.rows[0].cells[0]
	return c.at == 0 && c.span >= g.rows[1].next
}

// isLayout recognises tables that arrange a page: a single cell, cells that hold headings (save for a first row that is
// written in a style of headings) or lines of code, and rows or columns of cells that hold more than a paragraph.
func (g *grid) isLayout() bool {
	columns, full := 0, false
	titled := g.isTitled()
	for i := range g.rows {
		columns = max(columns, len(g.rows[i].cells))
		for j := range g.rows[i].cells {
			blocks := g.rows[i].cells[j].blocks
			for k := range blocks {
				switch blocks[k].Kind {
				case document.Heading:
					if i > 0 || !titled {
						return true
					}
				case document.Code:
					if strings.Contains(blocks[k].Text, "\n") {
						return true
					}
				case document.List, document.Table, document.Quote:
					full = true
				case document.Paragraph:
				}
			}
			full = full || len(blocks) > 1
		}
	}
	single := len(g.rows) == 1 || columns == 1
	return len(g.rows) == 1 && columns == 1 || full && (single || titled)
}

// isTitled recognises a first row whose cells are all nothing but headings: those of columns.
func (g *grid) isTitled() bool {
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

// texts returns the cells of a row by their columns. A cell that goes on from above repeats a short text.
func (r *gridRow) texts(above []string) (texts []string, blank bool) {
	blank = true
	for i := range r.cells {
		c := &r.cells[i]
		for len(texts) < min(c.at+c.span, document.MaxColumns) {
			texts = append(texts, "")
		}
		text := flatText(c.blocks)
		if c.below && text == "" && c.at < len(above) && len(above[c.at]) <= maxRepeat {
			texts[c.at] = above[c.at]
			continue
		}
		if text != "" {
			blank = false
			texts[c.at] = strings.TrimSpace(texts[c.at] + " " + text)
		}
	}
	return texts, blank
}

// spread repeats the text of a cell of the header in all columns that it reaches over.
func (r *gridRow) spread(texts []string) {
	for i := range r.cells {
		c := &r.cells[i]
		if c.beside && c.at > 0 && texts[c.at] == "" {
			texts[c.at] = texts[c.at-1]
		}
		for at := c.at + 1; at < min(c.at+c.span, len(texts)); at++ {
			if texts[at] == "" {
				texts[at] = texts[c.at]
			}
		}
	}
}

// header joins the rows that are marked as the header; without any, the first row is the header.
func header(rows [][]string, headers *int) []string {
	if *headers == len(rows) {
		*headers = 1
	}
	var joined []string
	for _, row := range rows[:*headers] {
		for at, text := range row {
			text = withoutMarks(text)
			switch {
			case at >= len(joined):
				joined = append(joined, text)
			case text != "" && joined[at] != text && !strings.HasSuffix(joined[at], " "+text):
				joined[at] = strings.TrimSpace(joined[at] + " " + text)
			}
		}
	}
	return joined
}

// withoutMarks takes the marks of bold text off a cell that is all bold, as headers are.
func withoutMarks(text string) string {
	inner, opened := strings.CutPrefix(text, "**")
	inner, closed := strings.CutSuffix(inner, "**")
	if opened && closed && inner != "" && !strings.Contains(inner, "*") {
		return inner
	}
	return text
}

// flatText puts blocks on one line: that of a cell, a note, a comment.
func flatText(blocks []document.Block) string {
	if len(blocks) == 1 && blocks[0].Kind == document.Paragraph {
		return blocks[0].Text
	}
	var parts []string
	for i := range blocks {
		block := &blocks[i]
		if block.Kind != document.Table {
			text := strings.TrimSpace(block.Text)
			if block.Kind == document.Code && text != "" {
				text = codeSpan(text)
			}
			if text != "" {
				parts = append(parts, text)
			}
			continue
		}
		rows := make([]string, 0, len(block.Rows)+1)
		for at := -1; at < len(block.Rows); at++ {
			cells := block.Header
			if at >= 0 {
				cells = block.Rows[at]
			}
			kept := make([]string, 0, len(cells))
			for _, cell := range cells {
				if cell != "" {
					kept = append(kept, cell)
				}
			}
			if len(kept) > 0 {
				rows = append(rows, strings.Join(kept, ", "))
			}
		}
		parts = append(parts, strings.Join(rows, "; "))
	}
	return strings.Join(parts, "\n")
}
