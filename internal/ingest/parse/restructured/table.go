package restructured

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// Bounds of a table that is drawn with characters.
const (
	maxTableLines   = 20_000
	maxTableColumns = 4_000
)

// isGridBorder reports whether a line is the upper border of a grid table: +---+---+.
func isGridBorder(line string) bool {
	line = strings.TrimRight(line, " ")
	return len(line) >= 3 && line[0] == '+' && line[len(line)-1] == '+' && (line[1] == '-' || line[1] == '=') && strings.Trim(line, "+-=") == ""
}

// gridLine is a line of a grid table by columns. A wide character takes two columns; the second holds 0.
type gridLine []rune

func newGridLine(line string) gridLine {
	row := make(gridLine, 0, len(line))
	for _, r := range line {
		switch runeWidth(r) {
		case 2:
			row = append(row, r, 0)
		default:
			row = append(row, r)
		}
	}
	return row
}

func (l gridLine) at(i int) rune {
	if i < len(l) {
		return l[i]
	}
	return ' '
}

// cut returns the text between two columns.
func (l gridLine) cut(from, to int) string {
	var b strings.Builder
	for i := from; i < min(to, len(l)); i++ {
		if l[i] != 0 {
			b.WriteRune(l[i])
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// isBorder reports whether the line is a border between two columns.
func (l gridLine) isBorder(from, to int) bool {
	for i := from; i < to; i++ {
		if r := l.at(i); r != '-' && r != '=' && r != '+' {
			return false
		}
	}
	return true
}

// segmentEnd returns the column of the + that ends the border segment beginning at a column, or 0.
func (l gridLine) segmentEnd(at int) int {
	if l[at] != '+' {
		return 0
	}
	end := at + 1
	for end < len(l) && (l[end] == '-' || l[end] == '=') {
		end++
	}
	if end == at+1 || end == len(l) || l[end] != '+' {
		return 0
	}
	return end
}

// gridTable reads a table drawn with +, - and |. It returns 0 if there is none.
func (b *body) gridTable(lines []string) int {
	n := 0
	for n < min(len(lines), maxTableLines) && lines[n] != "" && (lines[n][0] == '+' || lines[n][0] == '|') {
		n++
	}
	if n < 3 || len(lines[0]) > maxTableColumns || !isGridBorder(lines[n-1]) {
		return 0
	}
	header, rows := b.p.gridRows(lines[:n], b)
	b.emit(document.NewTable(header, rows))
	return n
}

// gridRows returns the cells of a grid table. A cell that spans rows is repeated in each.
func (p *parser) gridRows(lines []string, b *body) (header []string, rows [][]string) {
	gridLines := make([]gridLine, len(lines))
	corners := make(map[int]bool)
	for i, line := range lines {
		gridLines[i] = newGridLine(strings.TrimRight(line, " "))
		for at := 0; at < len(gridLines[i]); at++ {
			if end := gridLines[i].segmentEnd(at); end > 0 {
				corners[at], corners[end] = true, true
				at = end - 1
			}
		}
	}
	var edges []int
	for at := range corners {
		edges = append(edges, at)
	}
	slices.Sort(edges)
	if len(edges) > document.MaxColumns {
		edges = edges[:document.MaxColumns]
	}
	width := len(edges) - 1
	if width < 1 {
		return nil, nil
	}
	type cell struct{ lines []string }
	var grid [][]*cell
	open := make([]*cell, width)
	headerRows := 0
	for i, line := range gridLines {
		hasBorder := false
		for c := range width {
			if line.isBorder(edges[c], edges[c+1]+1) && line.at(edges[c]) != '|' {
				open[c], hasBorder = nil, true
			}
		}
		if hasBorder {
			if i > 0 && strings.Contains(lines[i], "=") && headerRows == 0 && line.isBorder(edges[0], edges[width]) {
				headerRows = len(grid)
			}
			if i == len(gridLines)-1 {
				break
			}
		}
		startsRow := false
		for c := 0; c < width; {
			if line.isBorder(edges[c], edges[c+1]+1) && line.at(edges[c]) != '|' {
				c++
				continue
			}
			last := c
			for last+1 < width && line.at(edges[last+1]) != '|' && line.at(edges[last+1]) != '+' {
				last++
			}
			current := open[c]
			if current == nil {
				current, startsRow = &cell{}, true
				for at := c; at <= last; at++ {
					open[at] = current
				}
			}
			current.lines = append(current.lines, line.cut(edges[c]+1, edges[last+1]))
			c = last + 1
		}
		if startsRow {
			grid = append(grid, slices.Clone(open))
		}
	}
	texts := make(map[*cell]string)
	for r, row := range grid {
		out := make([]string, width)
		for c, content := range row {
			if content == nil || c > 0 && row[c-1] == content && r >= headerRows {
				continue
			}
			if _, known := texts[content]; !known {
				texts[content] = compose.Cell(b.nested(compose.TrimBlankLines(compose.DedentLines(content.lines))))
			}
			out[c] = texts[content]
		}
		rows = append(rows, out)
	}
	return splitHeader(rows, headerRows)
}

// splitHeader merges the header rows into one. Without header rows the first row is the header.
func splitHeader(rows [][]string, headerRows int) (header []string, body [][]string) {
	if len(rows) == 0 {
		return nil, nil
	}
	if headerRows <= 0 || headerRows >= len(rows) {
		return rows[0], rows[1:]
	}
	header = slices.Clone(rows[0])
	for _, row := range rows[1:headerRows] {
		for c, name := range row {
			if c < len(header) && name != "" && name != header[c] {
				header[c] = strings.TrimSpace(header[c] + " / " + name)
				header[c] = strings.TrimPrefix(header[c], "/ ")
			}
		}
	}
	return header, rows[headerRows:]
}

// isSimpleBorder reports whether a line is a border of a simple table: runs of = with blanks between.
func isSimpleBorder(line string) bool {
	line = strings.TrimRight(line, " ")
	return len(line) >= 3 && line[0] == '=' && strings.Trim(line, "= ") == "" && strings.Contains(line, "= ")
}

// simpleTable reads a table whose columns are drawn as runs of = above and below.
func (b *body) simpleTable(lines []string) int {
	if b.p.searchBudget <= 0 {
		return 0
	}
	n, borders, lastBorder := 0, 0, 0
	for n < min(len(lines), maxTableLines) {
		if isSimpleBorder(lines[n]) {
			borders++
			lastBorder = n
			if borders >= 2 && (n+1 >= len(lines) || compose.IsBlank(lines[n+1])) {
				break
			}
		}
		n++
	}
	if borders < 2 || len(lines[0]) > maxTableColumns {
		b.p.searchBudget -= 64 * n
		return 0
	}
	table := simpleTable{b: b}
	table.starts, table.ends = runsOf(newGridLine(lines[0]), '=')
	for i := 1; i < lastBorder; i++ {
		line := newGridLine(strings.TrimRight(lines[i], " "))
		switch {
		case isSimpleBorder(lines[i]):
			table.flush(nil, nil)
			if table.headerRows == 0 {
				table.headerRows = len(table.rows)
			}
		case len(line) > 0 && strings.Trim(lines[i], "- ") == "":
			table.flush(runsOf(line, '-')) // the line shows which columns the cells above span
		case len(line) == 0 || table.lines != nil && strings.TrimSpace(line.cut(table.starts[0], table.ends[0])) == "":
			table.lines = append(table.lines, line)
		default:
			table.flush(nil, nil)
			table.lines = append(table.lines, line)
		}
	}
	table.flush(nil, nil)
	header, rest := splitHeader(table.rows, table.headerRows)
	b.emit(document.NewTable(header, rest))
	return lastBorder + 1
}

// simpleTable collects the rows of a simple table.
type simpleTable struct {
	b            *body
	starts, ends []int // of the columns
	headerRows   int
	lines        []gridLine // of the current row
	rows         [][]string
}

// flush ends a row. If its cells span columns, starts and ends are those of the cells; the first column of a cell gets
// the text, and all of them do in a header.
func (t *simpleTable) flush(starts, ends []int) {
	if len(t.lines) == 0 {
		return
	}
	if starts == nil {
		starts, ends = t.starts, t.ends
	}
	row := make([]string, len(t.starts))
	for c := range starts {
		to := len(t.lines[0])
		for _, line := range t.lines {
			to = max(to, len(line))
		}
		if c+1 < len(starts) {
			to = starts[c+1]
		}
		var cell []string
		for _, line := range t.lines {
			cell = append(cell, line.cut(starts[c], max(to, ends[c])))
		}
		text := compose.Cell(t.b.nested(compose.TrimBlankLines(compose.DedentLines(cell))))
		for at, start := range t.starts {
			if start >= starts[c] && start < ends[c] && (start == starts[c] || t.headerRows == 0) {
				row[at] = text
			}
		}
	}
	t.rows = append(t.rows, row)
	t.lines = nil
}

// runsOf returns the columns where runs of a character begin and end.
func runsOf(line gridLine, mark rune) (starts, ends []int) {
	for i := 0; i < len(line) && len(starts) < document.MaxColumns; {
		if line[i] != mark {
			i++
			continue
		}
		end := i
		for end < len(line) && line[end] == mark {
			end++
		}
		starts, ends = append(starts, i), append(ends, end)
		i = end
	}
	return starts, ends
}

// tableDirective reads a directive that makes a table. It reports whether the directive is one.
func (b *body) tableDirective(d *directive) bool {
	switch d.name {
	case "table", "csv-table", "list-table", "flat-table", "tabularray", "longtable":
	default:
		return false
	}
	if caption := b.p.inline(d.argument); caption != "" {
		b.paragraph(caption)
	}
	headerRows, err := strconv.Atoi(d.options["header-rows"])
	if err != nil {
		headerRows = 0
	}
	switch d.name {
	case "csv-table":
		b.separatedTable(d, headerRows)
	case "list-table", "flat-table":
		b.listTable(d, headerRows)
	default:
		b.emitAll(b.nested(d.content))
	}
	return true
}

func (b *body) separatedTable(d *directive, headerRows int) {
	read := func(text string) [][]string {
		reader := csv.NewReader(strings.NewReader(text))
		reader.LazyQuotes, reader.FieldsPerRecord, reader.TrimLeadingSpace = true, -1, true
		switch delimiter := []rune(d.options["delim"]); {
		case strings.EqualFold(d.options["delim"], "tab"):
			reader.Comma = '\t'
		case strings.EqualFold(d.options["delim"], "space"):
			reader.Comma = ' '
		case len(delimiter) == 1 && delimiter[0] != '"' && delimiter[0] != '\n':
			reader.Comma = delimiter[0]
		}
		records, _ := reader.ReadAll() // records before an error are kept
		for _, record := range records {
			for i := range record {
				record[i] = strings.Join(strings.Fields(b.p.inline(record[i])), " ")
			}
		}
		return records
	}
	var rows [][]string
	if d.options["header"] != "" {
		rows = read(d.options["header"])
		headerRows = len(rows)
	}
	rows = append(rows, read(strings.Join(d.content, "\n"))...)
	if header, rest := splitHeader(rows, headerRows); header != nil {
		b.emit(document.NewTable(header, rest))
	}
}

// listTable reads nested lists as a table.
func (b *body) listTable(d *directive, headerRows int) {
	var rows [][]string
	for _, item := range listItems(d.content) {
		if !b.p.ok() {
			return
		}
		var row []string
		for _, cell := range listItems(item) {
			row = append(row, compose.Cell(b.nested(compose.TrimBlankLines(cell))))
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	if header, rest := splitHeader(rows, headerRows); header != nil {
		b.emit(document.NewTable(header, rest))
	}
}

// listItems returns the lines of each item of a bullet list.
func listItems(lines []string) [][]string {
	var items [][]string
	for i := 0; i < len(lines); {
		width := bulletWidth(lines[i])
		if width == 0 {
			i++
			continue
		}
		item, n := cutItem(lines[i:], width)
		items = append(items, item)
		i += n
	}
	return items
}
