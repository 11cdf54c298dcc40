package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A table is a table on a page.
type table struct {
	above, below   []string // rows of a single cell before and after the table: a caption
	rows           [][]string
	x0, y0, x1, y1 float64
	edges          []float64 // between the columns
	size           float64
	order, glyphs  int
	spread         []spread // of the columns of a table without lines
}

const (
	// maxCells is how many cells a table with drawn lines may have.
	maxCells = 20_000
	// maxCellText is the longest text of a cell. Longer text is in a box that arranges the page.
	maxCellText = 1200
)

// segment returns the table as a segment of a page.
func (t *table) segment() segment {
	return segment{x0: t.x0, x1: t.x1, top: t.y0, bottom: t.y1, base: t.y0 + t.size, size: t.size, order: t.order, glyphs: t.glyphs, table: t}
}

// A grid is drawn lines that touch.
type grid struct {
	xs, ys         []float64 // positions of its lines
	level, upright []rule
}

// ruledTables returns the tables with drawn cells, and the spans outside of them.
func ruledTables(drawn rules, spans []span) ([]*table, []span) {
	var tables []*table
	for _, net := range gridsOf(drawn) {
		found, rest := net.table(spans)
		if found != nil {
			tables = append(tables, found)
			spans = rest
		}
	}
	return tables, spans
}

// gridsOf returns the grids of lines.
func gridsOf(drawn rules) []grid {
	const near = 3
	levels, uprights := drawn.level, drawn.upright
	if len(levels) == 0 || len(uprights) == 0 {
		return nil
	}
	parent := make([]int, len(levels)+len(uprights))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, l := range levels {
		for k, u := range uprights {
			if u.at >= l.from-near && u.at <= l.to+near && l.at >= u.from-near && l.at <= u.to+near {
				parent[root(i)] = root(len(levels) + k)
			}
		}
	}
	nets := make(map[int]*grid)
	var roots []int
	at := func(i int) *grid {
		r := root(i)
		if nets[r] == nil {
			nets[r] = &grid{}
			roots = append(roots, r)
		}
		return nets[r]
	}
	for i, l := range levels {
		net := at(i)
		net.level = append(net.level, l)
	}
	for k, u := range uprights {
		net := at(len(levels) + k)
		net.upright = append(net.upright, u)
	}
	var grids []grid
	for _, r := range roots {
		net := nets[r]
		if len(net.level) < 2 || len(net.upright) == 0 {
			continue
		}
		net.setPositions()
		if rows, columns := len(net.ys)-1, len(net.xs)-1; rows >= 1 && columns >= 2 && rows*columns <= maxCells {
			grids = append(grids, *net)
		}
	}
	return grids
}

// setPositions sets the positions of the lines. If the grid is open at an edge, the ends of its lines are the edge.
func (g *grid) setPositions() {
	for _, u := range g.upright {
		g.xs = append(g.xs, u.at)
	}
	for _, l := range g.level {
		g.ys = append(g.ys, l.at)
	}
	g.xs, g.ys = distinct(g.xs), distinct(g.ys)
	left, right, top, bottom := g.xs[0], g.xs[len(g.xs)-1], g.ys[0], g.ys[len(g.ys)-1]
	for _, l := range g.level {
		left, right = min(left, l.from), max(right, l.to)
	}
	for _, u := range g.upright {
		top, bottom = min(top, u.from), max(bottom, u.to)
	}
	const open = 8
	g.xs = append(g.xs, ends(left, right, g.xs, open)...)
	g.ys = append(g.ys, ends(top, bottom, g.ys, open)...)
	slices.Sort(g.xs)
	slices.Sort(g.ys)
}

func ends(low, high float64, places []float64, open float64) []float64 {
	var more []float64
	if places[0]-low > open {
		more = append(more, low)
	}
	if high-places[len(places)-1] > open {
		more = append(more, high)
	}
	return more
}

// distinct sorts positions and joins those that are nearly equal.
func distinct(places []float64) []float64 {
	slices.Sort(places)
	kept := places[:0]
	for _, place := range places {
		if len(kept) == 0 || place-kept[len(kept)-1] > 3 {
			kept = append(kept, place)
		}
	}
	return kept
}

// walls are the drawn sides of cells.
type walls struct {
	columns     int
	left, above []bool // whether there is a line on the left of a cell, above it
}

func (g *grid) walls() walls {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	w := walls{columns: columns, left: make([]bool, rows*columns), above: make([]bool, rows*columns)}
	for _, u := range g.upright {
		c := nearest(g.xs, u.at)
		if c >= columns {
			continue
		}
		for r := range rows {
			if middle := (g.ys[r] + g.ys[r+1]) / 2; u.from <= middle && u.to >= middle {
				w.left[r*columns+c] = true
			}
		}
	}
	for _, l := range g.level {
		r := nearest(g.ys, l.at)
		if r >= rows {
			continue
		}
		for c := range columns {
			if middle := (g.xs[c] + g.xs[c+1]) / 2; l.from <= middle && l.to >= middle {
				w.above[r*columns+c] = true
			}
		}
	}
	return w
}

func nearest(places []float64, at float64) int {
	i, _ := slices.BinarySearch(places, at)
	if i == len(places) || i > 0 && at-places[i-1] < places[i]-at {
		i--
	}
	return i
}

// table puts the spans inside of a grid into its cells. It returns nil if the grid is no table, and the spans outside.
func (g *grid) table(spans []span) (*table, []span) {
	rows, columns := len(g.ys)-1, len(g.xs)-1
	t := &table{x0: g.xs[0], x1: g.xs[columns], y0: g.ys[0], y1: g.ys[rows], order: math.MaxInt, edges: g.xs}
	w := g.walls()
	boxes := make([][]span, rows*columns)
	var rest []span
	for i := range spans {
		s := &spans[i]
		x, y := min((s.x0+s.x1)/2, s.x0+2*s.size), s.base-0.3*s.size
		if x < t.x0 || x > t.x1 || y < t.y0 || y > t.y1 {
			rest = append(rest, *s)
			continue
		}
		c, r := cellAt(g.xs, x), cellAt(g.ys, y)
		for c > 0 && !w.left[r*columns+c] {
			c--
		}
		for r > 0 && !w.above[r*columns+c] {
			r--
		}
		boxes[r*columns+c] = append(boxes[r*columns+c], *s)
		t.order, t.size, t.glyphs = min(t.order, i), max(t.size, s.size), t.glyphs+s.glyphs
	}
	for r := range rows {
		t.addRow(boxes[r*columns : (r+1)*columns])
	}
	t.trim()
	if !t.isPlausible() {
		return nil, spans
	}
	return t, rest
}

// cellAt returns the index of the interval that contains a value.
func cellAt(places []float64, value float64) int {
	i, _ := slices.BinarySearch(places, value)
	return min(max(i-1, 0), len(places)-2)
}

// A cellLine is the text on a base line of a cell.
type cellLine struct {
	base, size float64
	text       string
}

// addRow adds a row of cells. If only the columns are drawn, texts on the same base line are rows.
func (t *table) addRow(boxes [][]span) {
	lines := make([][]cellLine, len(boxes))
	var bases []float64
	for c, box := range boxes {
		lines[c] = cellLines(box)
		for _, l := range lines[c] {
			bases = append(bases, l.base)
		}
	}
	bases = distinct(bases)
	full, first := 0, 0
	counts := make([]int, len(bases)) // in how many cells a base line has text
	for c := range lines {
		last := -1
		for _, l := range lines[c] {
			i := nearest(bases, l.base)
			if i == last {
				continue
			}
			last = i
			if counts[i]++; counts[i] == 2 {
				full++
			}
			if c == 0 {
				first++
			}
		}
	}
	if len(bases) < 3 || 10*full < 7*len(bases) || 10*first < 8*len(bases) {
		row := make([]string, len(boxes))
		for c := range lines {
			row[c] = joinCell(lines[c])
		}
		t.rows = append(t.rows, row)
		return
	}
	made := make([][]string, len(bases))
	for i := range made {
		made[i] = make([]string, len(boxes))
	}
	for c := range lines {
		for _, l := range lines[c] {
			i := nearest(bases, l.base)
			made[i][c] = joinCells(made[i][c], l.text)
		}
	}
	for i, row := range made {
		if i > 0 && row[0] == "" {
			above := t.rows[len(t.rows)-1]
			for c, text := range row {
				above[c] = joinCells(above[c], text)
			}
			continue
		}
		t.rows = append(t.rows, row)
	}
}

// cellLines returns the lines in a cell.
func cellLines(spans []span) []cellLine {
	segments := segmentsOf(spans)
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.base, b.base) })
	var lines []cellLine
	a := arranger{}
	for start := 0; start < len(segments); {
		end := start + 1
		for end < len(segments) && segments[end].base-segments[start].base <= 0.35*max(segments[start].size, segments[end].size) {
			end++
		}
		made := a.line(segments[start:end])
		lines = append(lines, cellLine{base: made.base, size: made.size, text: squeeze(made.text)})
		start = end
	}
	return lines
}

func joinCell(lines []cellLine) string {
	text := ""
	for _, l := range lines {
		text = joinCells(text, l.text)
	}
	return cellOf(text)
}

// joinCells joins two lines of a cell. A text that is too long for a cell does not grow further, since the grid is no
// table.
func joinCells(a, b string) string {
	if len(a) > 2*maxCellText {
		return a
	}
	return joinLines(a, b, nil)
}

// trim removes empty rows and columns. Rows of a single cell at the start and end become text before and after the
// table.
func (t *table) trim() {
	used := func(row []string) int {
		n := 0
		for _, cell := range row {
			if cell != "" {
				n++
			}
		}
		return n
	}
	t.rows = slices.DeleteFunc(t.rows, func(row []string) bool { return used(row) == 0 })
	for len(t.rows) > 1 && used(t.rows[0]) == 1 && t.rows[0][0] != "" {
		t.above = append(t.above, t.rows[0][0])
		t.rows = t.rows[1:]
	}
	for n := len(t.rows); n > 1 && used(t.rows[n-1]) == 1 && len(t.rows[n-1][0]) > 60; n = len(t.rows) {
		t.below = append([]string{t.rows[n-1][0]}, t.below...)
		t.rows = t.rows[:n-1]
	}
	if len(t.rows) == 0 {
		return
	}
	for c := len(t.rows[0]) - 1; c >= 0; c-- {
		empty := true
		for _, row := range t.rows {
			empty = empty && row[c] == ""
		}
		if empty {
			for r := range t.rows {
				t.rows[r] = slices.Delete(t.rows[r], c, c+1)
			}
			if len(t.edges) > c+1 {
				t.edges = slices.Delete(slices.Clone(t.edges), c+1, c+2)
			}
		}
	}
}

// isPlausible reports whether the cells are a table, and not a frame or boxes that arrange a page.
func (t *table) isPlausible() bool {
	if len(t.rows) < 2 || len(t.rows[0]) < 2 {
		return false
	}
	filled, longest := 0, 0
	for _, row := range t.rows {
		for _, cell := range row {
			if strings.TrimSpace(cell) != "" {
				filled++
			}
			longest = max(longest, len(cell))
		}
	}
	return filled >= 3 && 10*filled >= 3*len(t.rows)*len(t.rows[0]) && longest <= maxCellText
}
