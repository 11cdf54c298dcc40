package odf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxRepeated is how often a repeated row with text is written.
	maxRepeated = 100
	// maxRepetition is the highest number of repetitions.
	maxRepetition = 1 << 24
	// maxCells is how many cells a table may have.
	maxCells = 4 << 20
	// cellSize is the cost of a cell without its text.
	cellSize = 8
)

// A cell is a cell of a table.
type cell struct {
	text   string
	blocks []document.Block // nil if the cell is one paragraph
}

// A grid collects the rows of a table.
type grid struct {
	rows        [][]cell
	cells       int
	hasRows     bool // a row has text in more than one cell
	hasBlocks   bool // a cell has more than a paragraph
	hasHeadings bool // a cell has a heading
}

// table reads a table. The first row is its header. A table that only arranges the page is replaced by the content of
// its cells.
func (w *walker) table(s *xmlscan.Scanner) error {
	if w.nested >= maxNested {
		text, err := w.flat(s)
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return err
	}
	style := w.r.styles.get("table", s.Attr("style-name"))
	if style.breakBefore == on || style.newMaster {
		w.breakPage()
	}
	page := w.page
	var g grid
	err := w.tableRows(s, &g)
	g.emit(w, page)
	return err
}

func (w *walker) tableRows(s *xmlscan.Scanner, g *grid) error {
	return w.each(s, func() error {
		switch s.Name() {
		case "table-row":
			return w.tableRow(s, g)
		case "table-header-rows", "table-rows", "table-row-group":
			return w.tableRows(s, g)
		case "soft-page-break":
			w.hasPageBreaks = true
			w.turnPage()
		}
		return w.skip(s)
	})
}

func (w *walker) tableRow(s *xmlscan.Scanner, g *grid) error {
	repeated := min(repetitions(s, "number-rows-repeated"), maxRepeated)
	var row []cell
	filled, empty := 0, 0
	err := w.each(s, func() error {
		times := repetitions(s, "number-columns-repeated")
		switch s.Name() {
		case "table-cell":
		case "covered-table-cell":
			empty = min(empty+times, document.MaxColumns)
			return w.skip(s)
		default:
			return w.skip(s)
		}
		made, err := w.tableCell(s)
		if made.text == "" {
			empty = min(empty+times, document.MaxColumns)
			return err
		}
		filled++
		row = append(row, make([]cell, empty)...)
		empty = 0
		times = min(times, max(document.MaxColumns-len(row), 1))
		w.spend((len(made.text) + cellSize) * (times - 1))
		for range times {
			row = append(row, made)
		}
		g.classify(made)
		return err
	})
	if len(row) == 0 {
		return err
	}
	if g.cells > maxCells && w.limitError == nil {
		w.limitError = &document.LimitError{Detail: fmt.Sprintf("a table has more than %d cells", maxCells)}
	}
	g.hasRows = g.hasRows || filled > 1
	for i := range repeated {
		if i > 0 {
			for _, made := range row {
				w.spend(len(made.text) + cellSize)
			}
		}
		g.rows = append(g.rows, row)
		g.cells += len(row)
	}
	return err
}

// repetitions returns how often a row or cell is repeated.
func repetitions(s *xmlscan.Scanner, attribute string) int {
	times, err := strconv.Atoi(s.Attr(attribute))
	if err != nil || times < 1 {
		return 1
	}
	return min(times, maxRepetition)
}

func (w *walker) tableCell(s *xmlscan.Scanner) (cell, error) {
	value := cellValue(s)
	blocks, err := w.collect(func() error { return w.flow(s) })
	made := cell{text: textOf(blocks)}
	if len(blocks) > 1 || len(blocks) == 1 && blocks[0].Kind != document.Paragraph {
		made.blocks = blocks
	}
	if made.text == "" {
		made.text = value
	}
	w.spend(cellSize)
	return made, err
}

// cellValue returns the value of a cell, for cells without a displayed text.
func cellValue(s *xmlscan.Scanner) string {
	switch s.Attr("value-type") {
	case "":
		return ""
	case "string":
		return s.Attr("string-value")
	case "date":
		return s.Attr("date-value")
	case "time":
		return s.Attr("time-value")
	case "boolean":
		return s.Attr("boolean-value")
	case "percentage":
		if share, err := strconv.ParseFloat(s.Attr("value"), 64); err == nil {
			return strconv.FormatFloat(100*share, 'g', 12, 64) + "%"
		}
	}
	return s.Attr("value")
}

func (g *grid) classify(made cell) {
	g.hasBlocks = g.hasBlocks || len(made.blocks) > 1
	for i := range made.blocks {
		g.hasHeadings = g.hasHeadings || made.blocks[i].Kind == document.Heading
	}
}

func (g *grid) emit(w *walker, page int) {
	switch {
	case len(g.rows) == 0:
		return
	case !g.hasRows && (len(g.rows) == 1 || g.hasBlocks), g.hasHeadings, len(g.rows) == 1 && g.hasBlocks:
		g.unfold(w)
		return
	}
	rows := make([][]string, len(g.rows))
	for i, row := range g.rows {
		rows[i] = make([]string, len(row))
		for j := range row {
			rows[i][j] = strings.ReplaceAll(row[j].text, "\n", " ")
		}
	}
	table := document.NewTable(rows[0], rows[1:])
	table.Page = page
	w.emit(table)
}

// unfold adds the content of the cells.
func (g *grid) unfold(w *walker) {
	for i, row := range g.rows {
		if i > 0 && &row[0] == &g.rows[i-1][0] {
			continue // a repeated row
		}
		for j := range row {
			if row[j].blocks == nil {
				w.emit(document.Block{Kind: document.Paragraph, Text: row[j].text})
			}
			for _, block := range row[j].blocks {
				w.emit(block)
			}
		}
	}
}
