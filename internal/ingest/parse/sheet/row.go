package sheet

import "sort"

// A row is a row of a sheet that has text.
type row struct {
	number int32 // from 0
	// first is the column of cells[0]. Further cells follow without gaps. For a sparse row, rows.columns has the
	// columns of the cells.
	first int32
	cells []string
}

const sparse = -1

// maxSheetColumn is the highest column of a cell.
const maxSheetColumn = 1<<16 - 1

// rows are the rows of a sheet in order.
type rows struct {
	list    []row
	columns map[int32][]uint16 // of the sparse rows, by number
	store   cellStore
	begin   int32 // columns of the last row without gaps
	end     int32
}

// add appends a row. The columns ascend, and no cell is empty. Both are copied.
func (r *rows) add(number int, columns []uint16, cells []string) {
	added := row{number: int32(number), first: int32(columns[0])} //nolint:gosec // rows are counted, and bounded by the number of cells
	last := int32(columns[len(columns)-1])
	// A row that fits into the columns of the previous row gets the same width, so that most rows of a table need no
	// copy.
	if r.begin <= added.first && last < r.end && int(r.end-r.begin) <= 2*len(cells)+6 {
		added.first, last = r.begin, r.end-1
	}
	span := int(last - added.first + 1)
	if span > 2*len(cells)+6 {
		if r.columns == nil {
			r.columns = make(map[int32][]uint16)
		}
		r.columns[added.number] = append([]uint16(nil), columns...)
		added.first, added.cells = sparse, r.store.take(len(cells))
		copy(added.cells, cells)
	} else {
		r.begin, r.end = added.first, last+1
		added.cells = r.store.take(span)
		for i, column := range columns {
			added.cells[int32(column)-added.first] = cells[i]
		}
	}
	r.list = append(r.list, added)
}

// columnOf returns the column of cell i of a row.
func (r *rows) columnOf(line *row, i int) int {
	if line.first == sparse {
		return int(r.columns[line.number][i])
	}
	return int(line.first) + i
}

// count returns how many cells of a row have text, up to a bound.
func (line *row) count(bound int) int {
	n := 0
	for _, cell := range line.cells {
		if cell != "" {
			if n++; n == bound {
				break
			}
		}
	}
	return n
}

// single returns the column and text of the only cell that has text.
func (r *rows) single(line *row) (column int, text string, isSingle bool) {
	for i, cell := range line.cells {
		if cell == "" {
			continue
		}
		if isSingle {
			return 0, "", false
		}
		column, text, isSingle = r.columnOf(line, i), cell, true
	}
	return column, text, isSingle
}

// at returns the text in a column.
func (r *rows) at(line *row, column int) string {
	if i := r.index(line, column); i >= 0 {
		return line.cells[i]
	}
	return ""
}

func (r *rows) index(line *row, column int) int {
	if line.first == sparse {
		columns := r.columns[line.number]
		i := sort.Search(len(columns), func(i int) bool { return int(columns[i]) >= column })
		if i < len(columns) && int(columns[i]) == column {
			return i
		}
		return -1
	}
	if i := column - int(line.first); i >= 0 && i < len(line.cells) {
		return i
	}
	return -1
}

// find returns the index of the first row with at least the number.
func (r *rows) find(number int) int {
	return sort.Search(len(r.list), func(i int) bool { return int(r.list[i].number) >= number })
}

// extent returns the first and the last column that have text.
func (r *rows) extent(list []row) (first, last int) {
	first, last = maxSheetColumn+1, -1
	for n := range list {
		line := &list[n]
		for i := range line.cells {
			if line.cells[i] != "" {
				first = min(first, r.columnOf(line, i))
				break
			}
		}
		for i := len(line.cells) - 1; i >= 0; i-- {
			if line.cells[i] != "" {
				last = max(last, r.columnOf(line, i))
				break
			}
		}
	}
	return first, last
}

// used returns the columns that have text, in order.
func (r *rows) used(list []row) []int {
	first, last := r.extent(list)
	if last < 0 {
		return nil
	}
	seen := make([]bool, last-first+1)
	for n := range list {
		line := &list[n]
		for i, cell := range line.cells {
			if cell != "" {
				seen[r.columnOf(line, i)-first] = true
			}
		}
	}
	used := make([]int, 0, 16)
	for i, has := range seen {
		if has {
			used = append(used, first+i)
		}
	}
	return used
}
