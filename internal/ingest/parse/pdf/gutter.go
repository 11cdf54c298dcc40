package pdf

import (
	"cmp"
	"math"
	"slices"
)

// A gutter is an upright empty area between two columns of text.
type gutter struct{ left, top, right, bottom float64 }

// cells is a part of a page as a grid, to find empty rectangles.
type cells struct {
	left, top     float64
	width, height float64 // of a cell
	columns, rows int
	isTaken       []bool
}

const (
	maxGridColumns = 500
	maxGridRows    = 1000
	// maxGutters is how many empty areas are tested.
	maxGutters = 48
)

// findGutter returns the highest empty area with columns of text on both sides.
func findGutter(segments []segment) (gutter, bool) {
	size := usualSize(segments)
	grid := gridOf(segments, size)
	type candidate struct{ left, right, top, bottom int } // the first cells, and the first beyond
	var candidates []candidate
	narrow, low := max(2, int(math.Ceil(0.5*size/grid.width))), max(2, int(2.2*size/grid.height))
	heights := make([]int, grid.columns+1)
	type rising struct{ start, height int }
	var stack []rising
	free := make([]int, grid.columns+1) // number of occupied cells before each column of the row below
	for row := range grid.rows {
		for c := range grid.columns {
			if grid.isTaken[row*grid.columns+c] {
				heights[c] = 0
			} else {
				heights[c]++
			}
			free[c+1] = free[c]
			if row+1 < grid.rows && grid.isTaken[(row+1)*grid.columns+c] {
				free[c+1]++
			}
		}
		stack = stack[:0]
		for c := 0; c <= grid.columns; c++ {
			height := 0
			if c < grid.columns {
				height = heights[c]
			}
			start := c
			for len(stack) > 0 && stack[len(stack)-1].height > height {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				start = top.start
				isInner := top.start > 0 && c < grid.columns // areas at the edge separate nothing
				isGrowing := row+1 < grid.rows && free[c] == free[top.start]
				if isInner && !isGrowing && top.height >= low && c-top.start >= narrow && len(candidates) < 20_000 {
					candidates = append(candidates, candidate{top.start, c, row + 1 - top.height, row + 1})
				}
			}
			if len(stack) == 0 || stack[len(stack)-1].height < height {
				stack = append(stack, rising{start, height})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		if by := cmp.Compare(b.bottom-b.top, a.bottom-a.top); by != 0 {
			return by
		}
		return cmp.Compare(b.right-b.left, a.right-a.left)
	})
	for _, c := range candidates[:min(len(candidates), maxGutters)] {
		g := gutter{
			left: grid.left + float64(c.left)*grid.width, right: grid.left + float64(c.right)*grid.width,
			top: grid.top + float64(c.top)*grid.height, bottom: grid.top + float64(c.bottom)*grid.height,
		}
		if g.separates(segments) {
			return g, true
		}
	}
	return gutter{}, false
}

func usualSize(segments []segment) float64 {
	sizes := make([]float64, 0, len(segments))
	for i := range segments {
		if segments[i].table == nil {
			sizes = append(sizes, segments[i].size)
		}
	}
	if len(sizes) == 0 {
		return 10
	}
	slices.Sort(sizes)
	return max(sizes[len(sizes)/2], 2)
}

func gridOf(segments []segment, size float64) cells {
	left, top, right, bottom := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for i := range segments {
		s := &segments[i]
		left, top, right, bottom = min(left, s.x0), min(top, s.top), max(right, s.x1), max(bottom, s.bottom)
	}
	g := cells{left: left, top: top, width: max(size/4, (right-left)/maxGridColumns), height: max(size/2, (bottom-top)/maxGridRows)}
	g.columns = int((right-left)/g.width) + 1
	g.rows = int((bottom-top)/g.height) + 1
	g.isTaken = make([]bool, g.columns*g.rows)
	for i := range segments {
		s := &segments[i]
		from, to := int((s.x0-left)/g.width), int((s.x1-left)/g.width)
		for row := int((s.top + 0.1*s.size - top) / g.height); row <= int((s.bottom-0.1*s.size-top)/g.height) && row < g.rows; row++ {
			for c := max(from, 0); c <= to && c < g.columns; c++ {
				g.isTaken[max(row, 0)*g.columns+c] = true
			}
		}
	}
	return g
}

// side is the text on one side of a gutter.
type side struct {
	lines, glyphs     int
	base, top, bottom float64
}

func (s *side) add(g *segment) {
	if s.lines == 0 {
		s.top, s.bottom = g.top, g.bottom
	}
	s.top, s.bottom = min(s.top, g.top), max(s.bottom, g.bottom)
	if s.lines == 0 || g.base-s.base > 0.5*g.size {
		s.lines++
		s.base = g.base
	}
	s.glyphs += g.glyphs
}

// separates reports whether the texts on both sides of the gutter, or of a part of it, are columns, not cells of rows.
// The gutter then gets the height of the columns.
func (g *gutter) separates(segments []segment) bool {
	inside := make([]*segment, 0, len(segments))
	for i := range segments {
		if middle := (segments[i].top + segments[i].bottom) / 2; middle >= g.top && middle <= g.bottom {
			inside = append(inside, &segments[i])
		}
	}
	whole := *g
	if g.hasColumns(inside) {
		return true
	}
	// There may be columns above or below rows that leave the same area free.
	part := g.columnsWithin(inside)
	if len(part) < 4 || len(part) == len(inside) {
		return false
	}
	*g = whole
	g.top, g.bottom = math.Inf(1), math.Inf(-1)
	for _, s := range part {
		g.top, g.bottom = min(g.top, s.top), max(g.bottom, s.bottom)
	}
	within := 0
	for _, s := range inside {
		if middle := (s.top + s.bottom) / 2; middle >= g.top && middle <= g.bottom {
			within++
		}
	}
	return within == len(part) && g.hasColumns(part)
}

func (g *gutter) isLeft(s *segment) bool { return (s.x0+s.x1)/2 < (g.left+g.right)/2 }

// columnsWithin returns the segments that are written on one side and then on the other. Of all such pairs it is the
// one whose smaller half has the most text.
func (g *gutter) columnsWithin(inside []*segment) []*segment {
	written := slices.Clone(inside)
	slices.SortStableFunc(written, func(a, b *segment) int { return cmp.Compare(a.order, b.order) })
	var best []*segment
	most, before, start, last := 0, 0, 0, 0 // last is the start of the previous run
	glyphs := 0
	for i, s := range written {
		if i > 0 && g.isLeft(s) != g.isLeft(written[i-1]) {
			if half := min(before, glyphs); half > most {
				best, most = written[last:i], half
			}
			before, glyphs, last, start = glyphs, 0, start, i
		}
		glyphs += s.glyphs
	}
	if half := min(before, glyphs); half > most {
		best = written[last:]
	}
	return best
}

// hasColumns reports whether segments are columns of text, not cells of rows. The lines of columns are long, or one
// column is written after the other.
func (g *gutter) hasColumns(inside []*segment) bool {
	tables := slices.ContainsFunc(inside, func(s *segment) bool { return s.table != nil })
	byBase := slices.Clone(inside)
	slices.SortStableFunc(byBase, func(a, b *segment) int { return cmp.Compare(a.base, b.base) })
	var left, right side
	for _, s := range byBase {
		if g.isLeft(s) {
			left.add(s)
		} else {
			right.add(s)
		}
	}
	if left.lines < 2 && !tables || right.lines < 2 && !tables || left.lines == 0 || right.lines == 0 {
		return false
	}
	wide := min(left.glyphs/left.lines, right.glyphs/right.lines)
	fewest := min(left.lines, right.lines)
	byOrder := slices.Clone(inside)
	slices.SortStableFunc(byOrder, func(a, b *segment) int { return cmp.Compare(a.order, b.order) })
	changes := 0
	for i := 1; i < len(byOrder); i++ {
		if g.isLeft(byOrder[i]) != g.isLeft(byOrder[i-1]) {
			changes++
		}
	}
	switch {
	case wide >= 30 && fewest >= 8, wide >= 18 && changes <= max(2, fewest/4):
		g.endAt(byBase, &left, &right)
		return true
	case wide < 4 || changes > 2:
		return false
	}
	// Short lines on both sides are columns only as far as there are some on each side.
	top, bottom := max(left.top, right.top), min(left.bottom, right.bottom)
	left, right = side{}, side{}
	for _, s := range byBase {
		if middle := (s.top + s.bottom) / 2; middle < top || middle > bottom {
			continue
		}
		if g.isLeft(s) {
			left.add(s)
		} else {
			right.add(s)
		}
	}
	g.top, g.bottom = top, bottom
	return left.lines > 0 && right.lines > 0 && (left.lines > 1 || right.lines > 1)
}

// endAt ends the gutter where both columns end. Text further down on one side belongs to its column, unless there is a
// gap where the other column ends. It then comes after both.
func (g *gutter) endAt(byBase []*segment, left, right *side) {
	end := min(left.bottom, right.bottom)
	longer := left.bottom > right.bottom
	last := math.Inf(-1)
	for _, s := range byBase {
		if g.isLeft(s) != longer {
			continue
		}
		if near := 2.5 * s.size; last > end-near && s.top < end+near && s.top-last > s.size {
			g.bottom = (last + s.top) / 2
			return
		}
		last = max(last, s.bottom)
	}
}
