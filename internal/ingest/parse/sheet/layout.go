package sheet

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxTitles is how many lines above a table are its title. maxRemarks is how many lines below a table are remarks,
// which are longer than minRemark characters. maxItem is the longest text of a single column.
const (
	maxTitles  = 5
	maxRemarks = 10
	minRemark  = 40
	maxItem    = 100
)

// A definedArea is a table that the file defines.
type definedArea struct {
	area
	headers int      // number of header rows: 0 or 1
	names   []string // of its columns
}

// define adds a defined table.
func (t *Tables) define(d definedArea) { t.defined = append(t.defined, d) }

// A piece is the result of some rows of the sheet.
type piece struct {
	top    int32
	blocks []document.Block
}

// layOut makes blocks of the rows of the sheet.
func (t *Tables) layOut() {
	pieces := t.takeDefined()
	parts := t.split(t.rows.list)
	t.parts += len(parts)
	for _, part := range parts {
		pieces = append(pieces, piece{part[0].number, t.part(part)})
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return int(a.top) - int(b.top) })
	for _, p := range pieces {
		t.blocks = append(t.blocks, p.blocks...)
	}
}

// takeDefined makes blocks of the defined tables, and removes their cells from the sheet.
func (t *Tables) takeDefined() []piece {
	var pieces []piece
	for _, d := range t.defined {
		var taken []row
		for n := t.rows.find(d.top); n < len(t.rows.list) && int(t.rows.list[n].number) <= d.bottom; n++ {
			line := &t.rows.list[n]
			if t.visits += len(line.cells) + 1; t.visits > maxVisits {
				break // the rest remains in the sheet
			}
			if inside, ok := t.takeInside(line, d.area); ok {
				taken = append(taken, inside)
			}
		}
		if len(taken) > 0 {
			pieces = append(pieces, piece{taken[0].number, []document.Block{t.buildDefined(d, taken)}})
		}
	}
	if len(pieces) > 0 {
		t.rows.list = slices.DeleteFunc(t.rows.list, func(line row) bool { return line.count(1) == 0 })
	}
	return pieces
}

// takeInside moves the cells of a row that are inside an area into a row of their own.
func (t *Tables) takeInside(line *row, a area) (inside row, found bool) {
	outside := false
	for i, cell := range line.cells {
		if cell != "" {
			column := t.rows.columnOf(line, i)
			isInside := a.left <= column && column <= a.right
			found, outside = found || isInside, outside || !isInside
		}
	}
	if !found {
		return row{}, false
	}
	inside = *line
	if !outside {
		line.cells = nil
		return inside, true
	}
	inside.cells = slices.Clone(line.cells)
	for i := range line.cells {
		if column := t.rows.columnOf(line, i); a.left <= column && column <= a.right {
			line.cells[i] = ""
		} else {
			inside.cells[i] = ""
		}
	}
	return inside, true
}

func (t *Tables) buildDefined(d definedArea, list []row) document.Block {
	used := t.rows.used(list)
	header := make([]string, len(used))
	if d.headers > 0 && int(list[0].number) < d.top+d.headers {
		header = t.textsOf(&list[0], used)
		list = list[1:]
	}
	for i, column := range used {
		if at := column - d.left; header[i] == "" && at < len(d.names) && d.headers == 0 {
			header[i] = clean(d.names[at])
		}
	}
	if strings.Join(header, "") == "" {
		header = letterHeader(used)
	}
	return t.build(header, used, list)
}

// part makes blocks of rows that belong together.
func (t *Tables) part(list []row) []document.Block {
	titles := t.titles(list)
	blocks := t.paragraphs(list[:titles])
	if list = list[titles:]; len(list) == 0 {
		return blocks
	}
	remarks := t.remarks(list)
	body := list[:len(list)-remarks]
	used := t.rows.used(body)
	head := t.head(body, used)
	if head.preface > 0 {
		blocks = append(blocks, t.preface(body[:head.preface])...)
		body = body[head.preface:]
		used = t.rows.used(body)
		head = t.head(body, used)
	}
	blocks = append(blocks, t.build(head.cells, used, body[head.rows:]))
	return append(blocks, t.paragraphs(list[len(list)-remarks:])...)
}

// preface makes blocks of the rows above the header of a wider table, such as names and values.
func (t *Tables) preface(list []row) []document.Block {
	var blocks []document.Block
	for len(list) > 0 {
		if _, _, single := t.rows.single(&list[0]); single {
			blocks = append(blocks, t.paragraphs(list[:1])...)
			list = list[1:]
			continue
		}
		used := t.rows.used(list)
		header, body := letterHeader(used), list
		if len(list) == 1 || t.isWords(&list[0]) {
			header, body = t.textsOf(&list[0], used), list[1:]
		}
		return append(blocks, t.build(header, used, body))
	}
	return blocks
}

// titles returns how many rows at the top are lines of text, not rows of a table.
func (t *Tables) titles(list []row) int {
	lead, column, isAligned, longest := 0, 0, true, 0
	for lead < len(list) {
		at, text, single := t.rows.single(&list[lead])
		if !single {
			break
		}
		if lead == 0 {
			column = at
		}
		isAligned = isAligned && at == column
		longest = max(longest, utf8.RuneCountInString(text))
		lead++
	}
	isColumn := lead > maxTitles && isAligned && longest <= maxItem
	switch {
	case lead == len(list):
		if isColumn || lead > maxRemarks*maxTitles {
			return 0
		}
		return lead
	case isColumn:
		return 0
	case lead > 0:
		// A single cell above another column than the first is the header of that column.
		at, _, _ := t.rows.single(&list[lead-1])
		if first, _ := t.rows.extent(list[lead:min(len(list), lead+sampleRows)]); at > first && !t.isWords(&list[lead]) && t.hasFigure(&list[lead], at) {
			return lead - 1
		}
	}
	return lead
}

// hasFigure reports whether a row has a number or date in a column.
func (t *Tables) hasFigure(line *row, column int) bool { return kindOf(t.rows.at(line, column)) > word }

// remarks returns how many rows at the end are lines of prose below the table.
func (t *Tables) remarks(list []row) int {
	n := 0
	for n < maxRemarks && n < len(list)-2 {
		column, text, single := t.rows.single(&list[len(list)-1-n])
		if !single || utf8.RuneCountInString(text) <= minRemark || kindOf(text) != word {
			break
		}
		if first, last := t.rows.extent(list[:min(len(list)-1-n, sampleRows)]); column != first || last-first < 2 {
			break
		}
		n++
	}
	return n
}

func (t *Tables) paragraphs(list []row) []document.Block {
	blocks := make([]document.Block, 0, len(list))
	for n := range list {
		_, text, _ := t.rows.single(&list[n])
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: strings.ReplaceAll(text, `\|`, "|"), Page: t.sheets})
	}
	return blocks
}

// textsOf returns the texts of a row in the columns.
func (t *Tables) textsOf(line *row, columns []int) []string {
	found := make([]string, len(columns))
	for i, column := range columns {
		found[i] = t.rows.at(line, column)
	}
	return found
}

func letterHeader(columns []int) []string {
	header := make([]string, len(columns))
	for i, column := range columns {
		header[i] = columnLetters(column)
	}
	return header
}

// build returns a table of the rows. Rows that contain all columns are not copied.
func (t *Tables) build(header []string, used []int, body []row) document.Block {
	filled := 0
	for n := range body {
		filled += body[n].count(len(used))
	}
	width := min(len(used), document.MaxColumns)
	if len(body) > 0 {
		width = min(width, max((filled+t.emptyLeft)/len(body), 1))
	}
	t.emptyLeft = max(t.emptyLeft-max(width*len(body)-filled, 0), 0)

	first, span := used[0], used[len(used)-1]-used[0]+1
	index := make([]int, span)
	for i, column := range used {
		index[column-first] = min(i, width-1)
	}
	table := document.Block{Kind: document.Table, Page: t.sheets, Header: header, Rows: make([][]string, len(body))}
	if len(header) > width {
		table.Header = append(header[:width-1:width-1], joined(header[width-1:]))
	}
	for n := range body {
		line := &body[n]
		if int(line.first) == first && len(line.cells) == width && span == width {
			table.Rows[n] = line.cells
			continue
		}
		cells := t.rows.store.take(width)
		var beyond []string
		for i, cell := range line.cells {
			if cell == "" {
				continue
			}
			at := index[t.rows.columnOf(line, i)-first]
			if at == width-1 && len(used) > width {
				beyond = append(beyond, cell)
				continue
			}
			cells[at] = cell
		}
		if beyond != nil {
			cells[width-1] = joined(beyond)
		}
		table.Rows[n] = cells
	}
	return table
}

func joined(cells []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(cells), func(cell string) bool { return cell == "" }), ", ")
}
