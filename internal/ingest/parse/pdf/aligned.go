package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

const (
	// Limits of a table without lines: its columns, its lines, and the words of a line.
	maxAlignedColumns = 40
	maxAlignedLines   = 300
	maxAlignedWords   = 400
)

// alignedTables replaces aligned lines by tables. In case of doubt the lines stay.
func alignedTables(lines []line) []line {
	var made []line
	for i := 0; i < len(lines); {
		t, used := alignedTable(lines[i:])
		if t == nil {
			made = append(made, lines[i])
			i++
			continue
		}
		first := &lines[i]
		made = append(made, line{x0: t.x0, x1: t.x1, base: first.base, size: first.size, table: t})
		i += used
	}
	return made
}

// stretch is a range of x positions on a line.
type stretch struct{ from, to float64 }

// alignedTable returns the table at the start of lines and the number of its lines, or nil.
func alignedTable(lines []line) (*table, int) {
	first := 0
	for k := range min(len(lines), 3) {
		if lines[k].table != nil {
			break
		}
		if len(lines[k].parts) > len(lines[first].parts) {
			first = k // the header may have smaller gaps than the rows below
		}
	}
	if len(lines[first].parts) < 2 {
		return nil, 0
	}
	gaps := gapsOf(&lines[first])
	if len(gaps) == 0 || len(gaps) >= maxAlignedColumns {
		return nil, 0
	}
	count, rows := first+1, 1
	for count < min(len(lines), maxAlignedLines) {
		next, last := &lines[count], &lines[count-1]
		if next.table != nil || len(next.words) > maxAlignedWords || next.base-last.base > 4*max(last.size, next.size) || next.isMono != lines[first].isMono {
			break
		}
		common := narrow(gaps, next.pieceParts(len(gaps)), next.size)
		if len(common) < len(gaps) && (len(common) == 0 || count > first+2 || len(common)+1 < len(gaps)) {
			break
		}
		if len(next.parts) < 2 && (len(gaps) == 1 || !next.within(lines[first:count], len(gaps)+1)) {
			break
		}
		if next.fills(common) < 2 && (next.base-last.base > 1.5*next.size || next.isBold != last.isBold) || math.Abs(next.size-last.size) > 0.15*last.size {
			break
		}
		gaps = common
		count++
		rows++
	}
	// Lines above the first belong to the table if its columns split their words.
	start := first
	for start > 0 {
		l := &lines[start-1]
		common := narrow(gaps, l.words, l.size)
		if len(gaps) < 2 || len(common) < len(gaps) || !l.isHeader(common) || lines[start].base-l.base > 4*l.size || !l.within(lines[start:count], len(gaps)+1) {
			break
		}
		gaps = common
		start--
	}
	if start > 0 || rows < 3 {
		return nil, 0
	}
	lines = lines[:count]
	for len(lines) > 0 && len(gaps) > 0 && lines[len(lines)-1].fills(gaps) < 2 && len(lines[len(lines)-1].parts) < 2 {
		lines = lines[:len(lines)-1] // text below the table
	}
	t := tableOf(lines, gaps)
	if !t.isCertain() {
		return nil, 0
	}
	return t, len(lines)
}

// pieceParts returns the parts of a line that a number of gaps must separate. For several gaps these are its words:
// that words leave them all free is no coincidence.
func (l *line) pieceParts(gaps int) []part {
	switch {
	case gaps >= 2 && len(l.words) > 0:
		return l.words
	case len(l.parts) > 0:
		return l.parts
	}
	return []part{{text: l.text, x0: l.x0, x1: l.x1}}
}

// within reports whether a line is not wider than others, or has few words.
func (l *line) within(others []line, columns int) bool {
	if len(l.words) <= 3*columns {
		return true
	}
	left, right := math.Inf(1), math.Inf(-1)
	for i := range others {
		left, right = min(left, others[i].x0), max(right, others[i].x1)
	}
	return l.x0 >= left-l.size && l.x1 <= right+3*l.size
}

// isHeader reports whether a line above a table may name its columns: all of them, or all but the first.
func (l *line) isHeader(gaps []stretch) bool {
	used := l.fills(gaps)
	return !strings.HasSuffix(l.text, ":") && (used == len(gaps)+1 || used == len(gaps) && len(gaps) > 1 && l.x0 > gaps[0].from)
}

// fills returns the number of columns in which a line has words.
func (l *line) fills(gaps []stretch) int {
	edges := middles(gaps)
	used := make(map[int]bool)
	for _, p := range l.pieceParts(len(gaps)) {
		c, _ := slices.BinarySearch(edges, (p.x0+p.x1)/2)
		used[c] = true
	}
	return len(used)
}

func middles(gaps []stretch) []float64 {
	edges := make([]float64, 0, len(gaps))
	for _, gap := range gaps {
		edges = append(edges, (gap.from+gap.to)/2)
	}
	return edges
}

// gapsOf returns the gaps between the parts of a line.
func gapsOf(l *line) []stretch {
	var gaps []stretch
	parts := slices.Clone(l.parts)
	slices.SortFunc(parts, func(a, b part) int {
		if a.x0 < b.x0 {
			return -1
		}
		return 1
	})
	for i := 1; i < len(parts); i++ {
		if parts[i].x0 > parts[i-1].x1 {
			gaps = append(gaps, stretch{parts[i-1].x1, parts[i].x0})
		}
	}
	return gaps
}

// narrow returns the gaps that remain when the parts of a line are added.
func narrow(gaps []stretch, parts []part, size float64) []stretch {
	least := 0.2 * size
	var left []stretch
	for _, gap := range gaps {
		free := []stretch{gap}
		for _, p := range parts {
			var next []stretch
			for _, f := range free {
				if p.x1 <= f.from || p.x0 >= f.to {
					next = append(next, f)
					continue
				}
				if p.x0-f.from >= least {
					next = append(next, stretch{f.from, p.x0})
				}
				if f.to-p.x1 >= least {
					next = append(next, stretch{p.x1, f.to})
				}
			}
			free = next
		}
		// A gap with text in its middle remains one gap: the wider part of it.
		best := -1
		for i := range free {
			if best < 0 || free[i].to-free[i].from > free[best].to-free[best].from {
				best = i
			}
		}
		if best >= 0 {
			left = append(left, free[best])
		}
	}
	return left
}

// tableOf puts the words of lines into columns. A line that is close below another and has no first cell continues the
// cells above.
func tableOf(lines []line, gaps []stretch) *table {
	edges := middles(gaps)
	t := &table{x0: lines[0].x0, x1: lines[0].x1, size: lines[0].size, spread: make([]spread, len(edges)+1)}
	for i := range lines {
		l := &lines[i]
		t.x0, t.x1 = min(t.x0, l.x0), max(t.x1, l.x1)
		row := make([]string, len(edges)+1)
		from := make([]part, len(edges)+1)
		for _, p := range l.pieceParts(len(gaps)) {
			c, _ := slices.BinarySearch(edges, (p.x0+p.x1)/2)
			if row[c] == "" {
				from[c] = p
			}
			from[c].x1 = p.x1
			row[c] = joinCells(row[c], strings.TrimSpace(p.text))
		}
		used := 0
		for c := range row {
			if row[c] = cellOf(row[c]); row[c] != "" {
				used++
				t.spread[c].add(from[c])
			}
		}
		near := i > 0 && l.base-lines[i-1].base < 1.5*l.size
		if n := len(t.rows); n > 0 && near && (row[0] == "" || used == 1 && n > 1) && used < len(row) {
			for c := range row {
				t.rows[n-1][c] = joinCells(t.rows[n-1][c], row[c])
			}
			continue
		}
		t.rows = append(t.rows, row)
	}
	t.edges = append(append([]float64{t.x0}, edges...), t.x1)
	return t
}

// cellOf returns the text of a part of a line as the text of a cell.
func cellOf(text string) string {
	return strings.TrimSpace(strings.TrimSuffix(squeeze(strings.TrimSpace(leaders.ReplaceAllString(text, " … "))), "…"))
}

// spread is the range of the left and right edges of the parts of a column.
type spread struct {
	left, right stretch
	isUsed      bool
}

func (s *spread) add(p part) {
	if !s.isUsed {
		*s = spread{left: stretch{p.x0, p.x0}, right: stretch{p.x1, p.x1}, isUsed: true}
		return
	}
	s.left = stretch{min(s.left.from, p.x0), max(s.left.to, p.x0)}
	s.right = stretch{min(s.right.from, p.x1), max(s.right.to, p.x1)}
}

// isCertain reports whether the lines are a table, and not text that is aligned by chance: a list, a table of contents,
// lines of an address.
func (t *table) isCertain() bool {
	columns := len(t.rows[0])
	if columns < 2 || len(t.rows) < 3 || columns == 2 && len(t.rows) < 4 {
		return false
	}
	cells, filled, length, marks, leaders := 0, 0, 0, 0, 0
	for _, row := range t.rows {
		for c, cell := range row {
			cells++
			if cell == "" {
				continue
			}
			if len(cell) > maxCellText {
				return false
			}
			filled++
			length += len([]rune(cell))
			if marker, _ := listMarker(cell + " x"); c == 0 && marker != "" {
				marks++
			}
			if strings.Contains(cell, "....") || strings.Contains(cell, ". . .") || strings.Contains(cell, "…") {
				leaders++
			}
		}
	}
	if 2*marks > len(t.rows) && columns == 2 || 2*leaders > len(t.rows) || 10*filled < 6*cells || length > 60*filled {
		return false
	}
	if columns > 2 {
		return true
	}
	// Two columns may also be words with wide gaps. So the right one must have a common left edge, or figures with a
	// common right edge, and short texts.
	right := t.spread[1]
	short, figures := 0, 0
	for _, row := range t.rows {
		if strings.ContainsFunc(row[1], unicode.IsDigit) {
			figures++
		}
		if len([]rune(row[1])) <= 24 || strings.ContainsFunc(row[1], unicode.IsDigit) && len(row[1]) < 40 {
			short++
		}
	}
	level := right.left.to-right.left.from < 0.5*t.size || right.right.to-right.right.from < 0.5*t.size && 10*figures >= 8*len(t.rows)
	return level && 10*short >= 9*len(t.rows)
}
