package document

import (
	"strconv"
	"strings"
)

// TableHead returns the first two lines of a table.
func TableHead(header []string) string {
	var b strings.Builder
	b.WriteString(TableRow(header))
	b.WriteString("\n|")
	for range header {
		b.WriteString(" --- |")
	}
	return b.String()
}

// TableRow returns a line of a table.
func TableRow(cells []string) string {
	var b strings.Builder
	b.WriteByte('|')
	for _, cell := range cells {
		b.WriteByte(' ')
		b.WriteString(cell)
		b.WriteString(" |")
	}
	return b.String()
}

// MaxColumns is how many columns a table may have. Further cells are joined in the last one.
const (
	MaxColumns = 256
	maxCells   = 2 << 20
)

// NewTable returns a table. All its rows are as long as its header, and all its cells are on one line.
func NewTable(header []string, rows [][]string) Block {
	width := len(header)
	for _, row := range rows {
		width = max(width, len(row))
	}
	width = min(width, MaxColumns, max(maxCells/(len(rows)+1), 1))
	table := Block{Kind: Table, Header: fitRow(header, width), Rows: make([][]string, 0, len(rows))}
	for i := len(header); i < width; i++ {
		table.Header[i] = "Column " + strconv.Itoa(i+1)
	}
	for _, row := range rows {
		table.Rows = append(table.Rows, fitRow(row, width))
	}
	return table
}

func fitRow(cells []string, width int) []string {
	fitted := make([]string, width)
	for i := range min(len(cells), width) {
		fitted[i] = cellText(cells[i])
	}
	if len(cells) > width && width > 0 {
		fitted[width-1] = cellText(strings.Join(cells[width-1:], ", "))
	}
	return fitted
}

// cellText puts a cell on one line and escapes its bars.
func cellText(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n\r\t") {
		text = strings.Join(strings.Fields(text), " ")
	}
	if !strings.Contains(text, "|") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '|' && (i == 0 || text[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
