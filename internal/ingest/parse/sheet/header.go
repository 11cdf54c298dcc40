package sheet

import "strings"

// maxPreface is how many rows may be above a header, fullRow the share of columns, in percent, that a header must fill.
const (
	maxPreface = 12
	fullRow    = 60
)

// maxLevels is how many rows of groups may be above the names of the columns.
const maxLevels = 3

// maxUnit is the longest text in a row of units below a header.
const maxUnit = 8

// head is the header of a table.
type head struct {
	preface int      // rows above the header that do not belong to the table
	rows    int      // rows of the header
	cells   []string // one for each column
}

// head returns the header of a table with the columns.
func (t *Tables) head(list []row, used []int) head {
	for i := range min(len(list)-1, maxPreface) {
		top := t.topOf(list, i, used)
		if t.isHeader(list, i, used) && t.filled(list, top, i, used) >= fullRow {
			return t.headOf(list, top, i, used)
		}
		if t.filled(list, i, i, used) >= fullRow && !t.isGroups(list, i, i+1, used) {
			if t.areUnits(list, i+1, used) {
				return t.headOf(list, top, i+1, used)
			}
			break
		}
	}
	switch {
	case len(list) == 1:
	case t.isWords(&list[0]) && len(list) > 2 && len(t.merged[list[0].number]) > 0 && t.isWords(&list[1]) && t.isGroups(list, 0, 1, used):
		return t.headOf(list, 0, 1, used)
	case !t.isWords(&list[0]):
		return head{cells: letterHeader(used)}
	}
	return head{rows: 1, cells: t.textsOf(&list[0], used)}
}

// topOf returns the first row of groups above the names of columns.
func (t *Tables) topOf(list []row, names int, used []int) int {
	top := names
	for top > 0 && names-top < maxLevels && t.isGroups(list, top-1, names, used) {
		top--
	}
	return top
}

// headOf returns the header of several rows.
func (t *Tables) headOf(list []row, top, bottom int, used []int) head {
	cells := t.textsOf(&list[bottom], used)
	for i := bottom - 1; i >= top; i-- {
		cells = t.joinHeaders(&list[i], cells, used)
	}
	return head{preface: top, rows: bottom - top + 1, cells: cells}
}

// areUnits reports whether a row contains units: short texts between the names of columns and their numbers, without
// one in the first column.
func (t *Tables) areUnits(list []row, i int, used []int) bool {
	if i+1 >= len(list) || t.rows.at(&list[i], used[0]) != "" || !t.isWords(&list[i-1]) || !t.isHeader(list, i, used) {
		return false
	}
	for _, column := range used {
		if text := t.rows.at(&list[i], column); kindOf(text) > word || len(text) > maxUnit || text != "" && t.rows.at(&list[i-1], column) == "" {
			return false
		}
	}
	return true
}

// filled returns the share of the columns, in percent, that rows fill. The first column, which contains the names of
// rows, needs no name.
func (t *Tables) filled(list []row, top, bottom int, used []int) int {
	n := 0
	for _, column := range used {
		for i := top; i <= bottom; i++ {
			if t.rows.at(&list[i], column) != "" {
				n++
				break
			}
		}
	}
	if len(used) > 1 && n < len(used) && t.rows.at(&list[bottom], used[0]) == "" {
		n++
	}
	return n * 100 / len(used)
}

// isHeader reports whether a row is a header: texts above a row with numbers or dates. It may contain years, dates and
// consecutive numbers if the row below contains something else.
func (t *Tables) isHeader(list []row, i int, used []int) bool {
	below := i + 1
	for below < len(list)-1 && below < i+sampleRows && list[below].count(2) < 2 && len(used) > 1 {
		below++ // the name of a group of rows
	}
	figures, years, other := 0, 0, 0
	var sequence, under []int
	for _, column := range used {
		text, below := t.rows.at(&list[i], column), t.rows.at(&list[below], column)
		belowKind := kindOf(below)
		if belowKind > word {
			figures++
		}
		switch kindOf(text) {
		case blank, word:
			continue
		case moment:
			if belowKind == moment {
				return false
			}
			continue
		case number:
		}
		value, plain := plainNumber(text)
		switch {
		case isYear(text):
			years++
			if below != "" && !isYear(below) {
				other++
			}
		case plain:
			sequence = append(sequence, value)
			if value, plain := plainNumber(below); plain {
				under = append(under, value)
			}
		default:
			return false
		}
	}
	if figures == 0 || years > 0 && other == 0 {
		return false
	}
	return len(sequence) == 0 || isSequence(sequence) && kindOf(t.rows.at(&list[i], used[0])) <= word && !isSequence(under)
}

// isSequence reports whether there are at least three consecutive numbers.
func isSequence(values []int) bool {
	for i := 1; i < len(values); i++ {
		if values[i] != values[i-1]+1 {
			return false
		}
	}
	return len(values) > 2
}

// isGroups reports whether a row contains names of groups of columns. The names of the columns are below, down to row
// names.
func (t *Tables) isGroups(list []row, i, names int, used []int) bool {
	if names >= len(list) || !t.isWords(&list[i+1]) || len(used) < 3 {
		return false
	}
	count := 0
	isPrefix := true // the texts are adjacent from the first column on
	for n, column := range used {
		text := t.rows.at(&list[i], column)
		switch {
		case text == "":
		case kindOf(text) != word && !isYear(text):
			return false
		default:
			isPrefix = isPrefix && count == n
			count++
		}
	}
	for _, m := range t.merged[list[i].number] {
		if m.first < used[len(used)-1] && m.last > used[0] && (m.first > used[0] || m.last < used[len(used)-1]) {
			return true
		}
	}
	return count > 0 && !isPrefix && t.hasNames(list, i, names, used)
}

// hasNames reports whether each column has a name or group.
func (t *Tables) hasNames(list []row, top, names int, used []int) bool {
	for _, column := range used {
		named := false
		for i := top; i <= names && !named; i++ {
			named = t.rows.at(&list[i], column) != ""
		}
		if !named {
			return false
		}
	}
	return true
}

// joinHeaders joins the names of groups with those of the columns.
func (t *Tables) joinHeaders(groups *row, names []string, used []int) []string {
	header := make([]string, len(used))
	merged := t.merged[groups.number]
	carried := ""
	for i, column := range used {
		group, name := t.rows.at(groups, column), names[i]
		switch {
		case group != "":
			carried = group
		case len(merged) > 0:
			for _, m := range merged {
				if m.first <= column && column <= m.last {
					group = t.rows.at(groups, m.first)
				}
			}
		default:
			group = carried
		}
		header[i] = group
		switch {
		case group == "" || name == group:
			header[i] = name
		case name != "":
			header[i] = strings.Join([]string{group, name}, " / ")
		}
	}
	return header
}
