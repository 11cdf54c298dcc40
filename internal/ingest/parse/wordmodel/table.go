package wordmodel

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// MaxRepeatedCell is how long the text of a cell, in bytes, may be to be repeated in the rows that the cell spans, so that each
// row can be understood alone.
const MaxRepeatedCell = 100

// maxHeaderRows is how many rows are joined into the header of a table.
const maxHeaderRows = 4

// A TableBuilder collects the rows of a table. The zero value is empty.
type TableBuilder struct {
	rows       [][]string
	headerRows int
}

// NextIsHeader reports whether the next row belongs to the header. The first row does, and so do marked rows that follow it.
func (t *TableBuilder) NextIsHeader(isMarked bool) bool {
	return len(t.rows) == 0 || isMarked && t.headerRows == len(t.rows) && t.headerRows < maxHeaderRows
}

// Add adds a row with the text of each cell.
func (t *TableBuilder) Add(row []string, isMarked bool) {
	if t.NextIsHeader(isMarked) {
		t.headerRows++
	}
	t.rows = append(t.rows, row)
}

// Build returns the table. It is false if there are no rows.
func (t *TableBuilder) Build(page int) (document.Block, bool) {
	if len(t.rows) == 0 {
		return document.Block{}, false
	}
	n := t.headerRows
	if n == len(t.rows) {
		n = 1
	}
	table := document.NewTable(joinHeader(t.rows[:n]), t.rows[n:])
	table.Page = page
	return table, true
}

// joinHeader joins the rows of a header.
func joinHeader(rows [][]string) []string {
	var joined []string
	for _, row := range rows {
		for at, text := range row {
			text = trimBold(text)
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

// trimBold removes the marks of a cell that is all bold, as header cells are.
func trimBold(text string) string {
	inner, opened := strings.CutPrefix(text, "**")
	inner, closed := strings.CutSuffix(inner, "**")
	if opened && closed && inner != "" && !strings.Contains(inner, "*") {
		return inner
	}
	return text
}
