package texttosql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rows are the result of a statement.
type Rows struct {
	Columns []string
	// Values are nil, booleans, numbers and strings, by row and column.
	Values [][]any
	// Truncated says that rows are missing.
	Truncated bool
}

// Same reports whether the rows of a statement are those of the gold: the same rows in any
// order, with the columns in any order and under any names. Further columns are allowed.
// Numbers are equal to six digits. Truncated rows are never the same.
func Same(gold, got Rows) bool {
	if gold.Truncated || got.Truncated || len(gold.Values) != len(got.Values) || len(gold.Columns) > len(got.Columns) {
		return false
	}
	m := matching{gold: texts(gold), got: texts(got), taken: make([]bool, len(got.Columns))}
	for column := range gold.Columns {
		m.sorted = append(m.sorted, sortedColumn(m.gold, column))
	}
	for column := range got.Columns {
		m.candidates = append(m.candidates, sortedColumn(m.got, column))
	}
	m.tries = maxTries
	return m.assign(nil)
}

// maxTries bounds the assignments of columns that are tried.
const maxTries = 10_000

// matching looks for columns that have the values of the gold's columns.
type matching struct {
	gold, got          [][]string // rows
	sorted, candidates [][]string // the values of each column, in order
	taken              []bool
	tries              int
}

// assign assigns the next column of the gold, after those that have been assigned.
func (m *matching) assign(assigned []int) bool {
	if m.tries--; m.tries < 0 {
		return false
	}
	if len(assigned) == len(m.sorted) {
		return m.rowsAgree(assigned)
	}
	for column, values := range m.candidates {
		if m.taken[column] || !slices.Equal(values, m.sorted[len(assigned)]) {
			continue
		}
		m.taken[column] = true
		found := m.assign(append(assigned, column))
		m.taken[column] = false
		if found {
			return true
		}
	}
	return false
}

func (m *matching) rowsAgree(assigned []int) bool {
	const separator = "\x1f"
	gold, got := make([]string, len(m.gold)), make([]string, len(m.got))
	for i := range m.gold {
		gold[i] = strings.Join(m.gold[i], separator)
		chosen := make([]string, len(assigned))
		for at, column := range assigned {
			chosen[at] = m.got[i][column]
		}
		got[i] = strings.Join(chosen, separator)
	}
	slices.Sort(gold)
	slices.Sort(got)
	return slices.Equal(gold, got)
}

func sortedColumn(rows [][]string, column int) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = row[column]
	}
	slices.Sort(out)
	return out
}

func texts(rows Rows) [][]string {
	out := make([][]string, len(rows.Values))
	for i, row := range rows.Values {
		out[i] = make([]string, len(row))
		for at, value := range row {
			out[i][at] = text(value)
		}
	}
	return out
}

// text returns a value in a form that equal values of different engines share.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return "\x00"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case string:
		return number(strings.TrimSpace(v))
	default:
		return number(fmt.Sprint(v))
	}
}

// number rounds a number to six digits, and cuts the midnight of a date. Other texts stay.
func number(s string) string {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		if x == 0 {
			return "0" // also -0
		}
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	for _, midnight := range []string{"T00:00:00Z", " 00:00:00", "T00:00:00"} {
		if day, ok := strings.CutSuffix(s, midnight); ok {
			return day
		}
	}
	return s
}
