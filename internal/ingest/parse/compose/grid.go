package compose

import (
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// A Grid lays out the cells of a table. A cell that spans rows is repeated in each of them, so that each row can be
// understood alone. A cell that spans columns stands in the first one, but names all of them in a header.
type Grid struct {
	rows  [][]string
	names [][]string // like rows, with cells that span columns in all of them
	below []spanning // by column: cells that span further rows
	at    int        // column of the next cell
	cells int
}

// spanning is a cell that spans further rows.
type spanning struct {
	text, name string
	rows       int
}

// maxGrid is how many cells may come from spans.
const maxGrid = 1 << 20

// NewGrid returns an empty grid.
func NewGrid() *Grid { return &Grid{} }

// StartRow begins the next row.
func (g *Grid) StartRow() {
	g.fill()
	g.rows = append(g.rows, nil)
	g.names = append(g.names, nil)
	g.at = 0
	g.skip()
}

// skip adds the cells that span into the row at the current column.
func (g *Grid) skip() {
	for g.at < len(g.below) && g.below[g.at].rows > 0 {
		g.below[g.at].rows--
		g.add(g.below[g.at].text, g.below[g.at].name)
	}
}

// fill ends a row with the cells that span into it behind its last cell.
func (g *Grid) fill() {
	if len(g.rows) == 0 {
		return
	}
	last := -1
	for i := g.at; i < len(g.below); i++ {
		if g.below[i].rows > 0 {
			last = i
		}
	}
	for g.at <= last {
		g.skip()
		if g.at <= last {
			g.add("", "")
		}
	}
}

func (g *Grid) add(text, name string) {
	row := len(g.rows) - 1
	g.rows[row] = append(g.rows[row], text)
	g.names[row] = append(g.names[row], name)
	g.at++
	g.cells++
}

// Put adds a cell that spans columns and rows.
func (g *Grid) Put(text string, columns, rows int) {
	if g.Full() {
		columns, rows = 1, 1
	}
	for i := range columns {
		if len(g.rows[len(g.rows)-1]) > 2*document.MaxColumns && i > 0 {
			break
		}
		shown := text
		if i > 0 {
			shown = ""
		}
		if rows > 1 {
			for len(g.below) <= g.at {
				g.below = append(g.below, spanning{})
			}
			g.below[g.at] = spanning{text: shown, name: text, rows: rows - 1}
		}
		g.add(shown, text)
	}
	g.skip()
}

// Table returns the header, made from the given number of header rows, and the other rows. Without header rows the
// first row is the header.
func (g *Grid) Table(headerRows int) (header []string, rows [][]string) {
	g.fill()
	if len(g.rows) == 0 {
		return nil, nil
	}
	if headerRows >= len(g.rows) {
		headerRows = 1 // a table of header rows only
	}
	if headerRows == 0 {
		return g.rows[0], g.rows[1:]
	}
	for _, row := range g.names[:headerRows] {
		for i, name := range row {
			switch {
			case i >= len(header):
				header = append(header, name)
			case name == "" || slices.Contains(strings.Split(header[i], " / "), name):
			case header[i] == "":
				header[i] = name
			default:
				header[i] += " / " + name
			}
		}
	}
	return header, g.rows[headerRows:]
}

// MaxSpan is how many rows or columns a cell may span.
const MaxSpan = 256

// MaxHeaderRows is how many rows may form a header.
const MaxHeaderRows = 4

// Height returns the number of rows.
func (g *Grid) Height() int { return len(g.rows) }

// Column returns the column of the next cell.
func (g *Grid) Column() int { return g.at }

// Full reports whether the grid has so many cells that further cells span nothing.
func (g *Grid) Full() bool { return g.cells > maxGrid }
