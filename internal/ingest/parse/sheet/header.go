package sheet

import "strings"

// How far down a header is looked for, and which share of the columns a row must fill to be one, in percent.
const (
	maxPreface = 12
	fullRow    = 60
)

// head is the header of a table.
type head struct {
	preface int      // rows that stand above it and are not of the table
	rows    int      // how many rows the header takes
	cells   []string // a cell for each column
}

// head finds the header of a table with these columns.
func (t *Tables) head(list []row, used []int) head {
	for i := range min(len(list)-1, maxPreface) {
		grouped := i > 0 && t.groups(list, i-1, used)
		if t.isHeader(list, i, used) && t.filled(list, i, grouped, used) >= fullRow {
			if grouped {
				return head{preface: i - 1, rows: 2, cells: t.joinHeaders(&list[i-1], &list[i], used)}
			}
			return head{preface: i, rows: 1, cells: t.textsOf(&list[i], used)}
		}
		if t.filled(list, i, false, used) >= fullRow && !t.groups(list, i, used) {
			break
		}
	}
	switch {
	case len(list) == 1:
	case t.words(&list[0]) && len(list) > 2 && len(t.merged[list[0].number]) > 0 && t.words(&list[1]) && t.groups(list, 0, used):
		return head{rows: 2, cells: t.joinHeaders(&list[0], &list[1], used)}
	case !t.words(&list[0]):
		return head{cells: letterHeader(used)}
	}
	return head{rows: 1, cells: t.textsOf(&list[0], used)}
}

// filled returns how much of the columns a row fills, with the row above it where that is part of the header, in percent.
// The first column, of the names of the rows, needs no name itself.
func (t *Tables) filled(list []row, i int, withAbove bool, used []int) int {
	n := 0
	for _, column := range used {
		if t.rows.at(&list[i], column) != "" || withAbove && t.rows.at(&list[i-1], column) != "" {
			n++
		}
	}
	if len(used) > 1 && n < len(used) && t.rows.at(&list[i], used[0]) == "" {
		n++
	}
	return n * 100 / len(used)
}

// isHeader reports a row of texts above a row with numbers or dates. Years, dates and numbers in sequence may be in it,
// where the row below has something else.
func (t *Tables) isHeader(list []row, i int, used []int) bool {
	below := i + 1
	for below < len(list)-1 && below < i+sampleRows && list[below].count(2) < 2 && len(used) > 1 {
		below++ // the name of a group of rows
	}
	figures, sequence, years, other, previous := 0, 0, 0, 0, 0
	for _, column := range used {
		text, under := t.rows.at(&list[i], column), t.rows.at(&list[below], column)
		underKind := kindOf(under)
		if underKind > word {
			figures++
		}
		switch kindOf(text) {
		case blank, word:
		case moment:
			if underKind == moment {
				return false
			}
		case number:
			value, plain := period(text)
			switch {
			case isYear(text):
				years++
			case plain && (sequence == 0 || value == previous+1):
				sequence++
			default:
				return false
			}
			if under != "" && (isYear(text) && !isYear(under) || !isYear(text) && under != text) {
				other++
			}
			previous = value
		}
	}
	return figures > 0 && sequence != 1 && sequence != 2 && (years+sequence == 0 || other > 0)
}

// groups reports a row of names for groups of columns, whose own names are in the row below.
func (t *Tables) groups(list []row, i int, used []int) bool {
	if i+1 >= len(list) || !t.words(&list[i+1]) || len(used) < 3 {
		return false
	}
	named := 0
	prefix := true // the texts stand side by side from the first column on
	for n, column := range used {
		text := t.rows.at(&list[i], column)
		switch {
		case text == "":
		case kindOf(text) != word && !isYear(text):
			return false
		default:
			prefix = prefix && named == n
			named++
		}
	}
	for _, m := range t.merged[list[i].number] {
		if m.first < used[len(used)-1] && m.last > used[0] && (m.first > used[0] || m.last < used[len(used)-1]) {
			return true
		}
	}
	return named > 0 && !prefix && t.covered(list, i, used)
}

// covered reports that the row below has a text in each column for which a row of groups has none.
func (t *Tables) covered(list []row, i int, used []int) bool {
	for _, column := range used {
		if t.rows.at(&list[i], column) == "" && t.rows.at(&list[i+1], column) == "" {
			return false
		}
	}
	return true
}

// joinHeaders joins the names of groups with those of the columns.
func (t *Tables) joinHeaders(groups, names *row, used []int) []string {
	header := make([]string, len(used))
	merged := t.merged[groups.number]
	carried := ""
	for i, column := range used {
		group, name := t.rows.at(groups, column), t.rows.at(names, column)
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
