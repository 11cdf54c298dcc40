package pdf

import (
	"slices"
	"strings"
	"unicode"
)

// alignedTables makes tables of lines whose parts stand below one another. Where that is not certain the lines stay.
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

// span of places, on a line of text.
type stretch struct{ from, to float64 }

// alignedTable returns the table that lines begin with, nil when they begin with none, and how many lines it has.
func alignedTable(lines []line) (*table, int) {
	if len(lines[0].parts) < 2 {
		return nil, 0
	}
	gaps := gapsOf(&lines[0])
	count, full := 1, 1
	end := 1 // after the last line with more than one part
	for count < len(lines) {
		next, last := &lines[count], &lines[count-1]
		if next.table != nil || next.base-last.base > 2.6*max(last.size, next.size) || next.mono != lines[0].mono {
			break
		}
		common := narrow(gaps, next)
		if len(common) < len(gaps) && (len(common) == 0 || count > 2 || len(common)+1 < len(gaps)) {
			break
		}
		if len(next.parts) < 2 {
			if len(gaps) == 1 {
				break
			}
			// A line with a single part goes on in a cell of the row above, which then stands close.
			if next.base-last.base > 1.5*next.size || count+1 >= len(lines) {
				break
			}
		}
		gaps = common
		count++
		if len(next.parts) > 1 {
			full++
			end = count
		}
	}
	if full < 3 {
		return nil, 0
	}
	lines = lines[:end]
	t := tableOf(lines, gaps)
	if !t.certain(full) {
		return nil, 0
	}
	return t, end
}

// gapsOf returns the stretches between the parts of a line.
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

// narrow returns what is left of gaps when a line with text in them is added.
func narrow(gaps []stretch, l *line) []stretch {
	parts := l.parts
	if len(parts) == 0 {
		parts = []part{{x0: l.x0, x1: l.x1}}
	}
	least := 0.6 * l.size
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
		// A gap with text in its middle stays one gap: the wider part of it.
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

// tableOf puts the parts of lines into columns.
func tableOf(lines []line, gaps []stretch) *table {
	t := &table{x0: lines[0].x0, x1: lines[0].x1, size: lines[0].size, spread: make([]spread, len(gaps)+1)}
	edges := make([]float64, 0, len(gaps))
	for _, gap := range gaps {
		edges = append(edges, (gap.from+gap.to)/2)
	}
	for i := range lines {
		l := &lines[i]
		t.x0, t.x1 = min(t.x0, l.x0), max(t.x1, l.x1)
		row := make([]string, len(edges)+1)
		parts := l.parts
		if len(parts) == 0 {
			parts = []part{{text: l.text, x0: l.x0, x1: l.x1}}
		}
		for _, p := range parts {
			c, _ := slices.BinarySearch(edges, (p.x0+p.x1)/2)
			row[c] = joinLines(row[c], cellOf(p.text), nil)
			if len(l.parts) > 1 {
				t.spread[c].add(p)
			}
		}
		if len(l.parts) == 0 && len(t.rows) > 0 {
			above := t.rows[len(t.rows)-1]
			for c := range row {
				above[c] = joinLines(above[c], row[c], nil)
			}
			continue
		}
		t.rows = append(t.rows, row)
	}
	t.edges = append(append([]float64{t.x0}, edges...), t.x1)
	return t
}

// cellOf returns the text of a part of a line as that of a cell.
func cellOf(text string) string {
	return strings.TrimSpace(strings.TrimSuffix(squeeze(strings.TrimSpace(leaders.ReplaceAllString(text, " … "))), "…"))
}

// spread is how far the parts of a column stand from a common edge.
type spread struct {
	left, right stretch
	used        bool
}

func (s *spread) add(p part) {
	if !s.used {
		*s = spread{left: stretch{p.x0, p.x0}, right: stretch{p.x1, p.x1}, used: true}
		return
	}
	s.left = stretch{min(s.left.from, p.x0), max(s.left.to, p.x0)}
	s.right = stretch{min(s.right.from, p.x1), max(s.right.to, p.x1)}
}

// certain tells a table from text that happens to be aligned: a list, a table of contents, lines of an address.
func (t *table) certain(full int) bool {
	columns := len(t.rows[0])
	if columns < 2 || len(t.rows) < 3 || columns == 2 && full < 4 {
		return false
	}
	cells, filled, length, marks, leaders := 0, 0, 0, 0, 0
	for _, row := range t.rows {
		for c, cell := range row {
			cells++
			if cell == "" {
				continue
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
	// Two columns may be anything, also words with wide blanks between them: the right one has to begin in one place, or to
	// hold figures that end in one place, or short words throughout.
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
