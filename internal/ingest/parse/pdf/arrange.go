package pdf

import (
	"cmp"
	"math"
	"slices"
)

// A segment is text on a base line without a wide gap, or a table.
type segment struct {
	x0, x1, top, bottom float64
	base, size          float64
	order, last         int // index of its first and of its rightmost span on the page
	glyphs              int
	spans               []span
	table               *table
}

// column is an area of a page that is read from top to bottom.
type column struct{ x0, x1 float64 }

// arrange puts the spans of a page into reading order.
func (p *page) arrange(spans []span, drawn rules, links []link, box []float64) {
	p.turn = mainTurn(spans)
	p.left, p.top, p.right, p.bottom = p.turn.box(box[0], box[3], box[2], box[1])
	var others []turn
	main := spans[:0:0]
	aside := make(map[turn][]span)
	for i := range spans {
		s := &spans[i]
		switch {
		case s.turn != p.turn:
			if aside[s.turn] == nil {
				others = append(others, s.turn)
			}
			aside[s.turn] = append(aside[s.turn], *s)
		case p.isOutside(s):
		default:
			main = append(main, *s)
		}
	}
	a := arranger{page: p, links: links}
	if len(main) > maxSpans {
		a.asWritten(main)
	} else {
		alignRaised(main)
		turned := drawn.turned(p.turn)
		turned.bullets(main)
		tables, rest := ruledTables(turned, main)
		segments := segmentsOf(rest)
		for _, t := range tables {
			segments = append(segments, t.segment())
		}
		a.cut(segments, 0)
	}
	for _, t := range others {
		if group := aside[t]; len(group) > maxSpans {
			a.asWritten(group)
		} else {
			alignRaised(group)
			a.leaf(segmentsOf(group))
		}
	}
}

// mainTurn returns the direction of most of the text.
func mainTurn(spans []span) turn {
	glyphs := make(map[turn]int)
	most := turn(0)
	for i := range spans {
		t := spans[i].turn
		glyphs[t] += spans[i].glyphs
		if glyphs[t] > glyphs[most] {
			most = t
		}
	}
	return most
}

// isOutside reports whether a span is beyond the edge of the page.
func (p *page) isOutside(s *span) bool {
	const slack = 20
	return p.right-p.left > slack && p.bottom-p.top > slack && p.turn%90 == 0 &&
		(s.x1 < p.left-slack || s.x0 > p.right+slack || s.base < p.top-slack || s.base > p.bottom+slack)
}

// alignRaised moves superscripts and subscripts to the base line of the text beside them.
func alignRaised(spans []span) {
	for i := 1; i < len(spans); i++ {
		a, b := &spans[i-1], &spans[i]
		switch {
		case b.size < 0.85*a.size && beside(a, b, b.x0-a.x1, a.size):
			b.base, b.isRaised = a.base, true
		case a.size < 0.85*b.size && beside(b, a, b.x0-a.x1, b.size):
			a.base, a.isRaised = b.base, true
		}
	}
}

func beside(host, small *span, gap, size float64) bool {
	rise := host.base - small.base
	return gap > -0.3*size && gap < 0.4*size && rise < 0.8*size && rise > -0.4*size && math.Abs(rise) > 0.08*size
}

// segmentsOf joins adjacent spans.
func segmentsOf(spans []span) []segment {
	type placed struct {
		span
		order int
	}
	list := make([]placed, len(spans))
	for i := range spans {
		list[i] = placed{spans[i], i}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.base, b.base) })
	var segments []segment
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && list[end].base-list[start].base <= 0.25*max(list[start].size, list[end].size) {
			end++
		}
		row := list[start:end]
		slices.SortStableFunc(row, func(a, b placed) int { return cmp.Compare(a.x0, b.x0) })
		first := len(segments)
		for i := range row {
			next := &row[i]
			if len(segments) > first && segments[len(segments)-1].take(&next.span, next.order) {
				continue
			}
			segments = append(segments, segment{
				x0: next.x0, x1: next.x1, top: next.top(), bottom: next.bottom(), base: next.base, size: next.size,
				order: next.order, last: next.order, glyphs: next.glyphs, spans: []span{next.span},
			})
		}
		start = end
	}
	return segments
}

// wideGap is the width from which a gap in a line may separate columns, as a multiple of the font size.
const wideGap = 0.75

// take adds a span to the end of a segment, unless there is a gap between them.
func (g *segment) take(s *span, order int) bool {
	last := &g.spans[len(g.spans)-1]
	size := max(s.size, last.size)
	switch {
	case s.x0-g.x1 > wideGap*size, s.x0-g.x1 > 0.4*size && order != g.last+1:
		return false // text that is not consecutive in the file may be in two columns
	case s.x0-last.x0 < 0.3*size && s.text == last.text && math.Abs(s.x1-last.x1) < 0.3*size:
		return true // printed twice for a bold look
	case s.x0 < g.x1-0.5*size && s.x0 < last.x0+0.5*(last.x1-last.x0):
		return false // one above the other
	}
	g.x1 = max(g.x1, s.x1)
	g.top, g.bottom = min(g.top, s.top()), max(g.bottom, s.bottom())
	g.size = max(g.size, s.size)
	g.order, g.last = min(g.order, order), order
	g.glyphs += s.glyphs
	g.spans = append(g.spans, *s)
	return true
}

// An arranger orders the lines of a page.
type arranger struct {
	page  *page
	links []link
	cuts  int // number of cuts of the page
}

const (
	// maxDepth and maxCuts limit how often a part of a page, and a page, is cut.
	maxDepth = 12
	maxCuts  = 60
)

// cut reads a part of a page: the text above columns, then each column, then the text below.
func (a *arranger) cut(segments []segment, depth int) {
	if a.cuts++; len(segments) < 4 || depth > maxDepth || a.cuts > maxCuts {
		a.leaf(segments)
		return
	}
	gutter, found := findGutter(segments)
	if !found {
		a.leaf(segments)
		return
	}
	var above, left, right, below []segment
	for i := range segments {
		s := &segments[i]
		switch middle := (s.top + s.bottom) / 2; {
		case middle < gutter.top:
			above = append(above, *s)
		case middle > gutter.bottom:
			below = append(below, *s)
		case (s.x0+s.x1)/2 < (gutter.left+gutter.right)/2:
			left = append(left, *s)
		default:
			right = append(right, *s)
		}
	}
	if rightToLeft(segments) {
		left, right = right, left
	}
	for _, part := range [][]segment{above, left, right, below} {
		if len(part) == len(segments) {
			a.leaf(segments)
			return
		}
	}
	for _, part := range [][]segment{above, left, right, below} {
		if len(part) > 0 {
			a.cut(part, depth+1)
		}
	}
}

// rightToLeft reports whether most of the text is written from right to left.
func rightToLeft(segments []segment) bool {
	glyphs, all := 0, 0
	for _, segment := range segments {
		for k := range segment.spans {
			s := &segment.spans[k]
			all += s.glyphs
			if s.rightToLeft {
				glyphs += s.glyphs
			}
		}
	}
	return 2*glyphs > all
}

// leaf reads a part of a page from top to bottom.
func (a *arranger) leaf(segments []segment) {
	if len(segments) == 0 {
		return
	}
	slices.SortStableFunc(segments, func(a, b segment) int { return cmp.Compare(a.base, b.base) })
	var lines []line
	bounds := column{x0: math.Inf(1), x1: math.Inf(-1)}
	for start := 0; start < len(segments); {
		end := start + 1
		for end < len(segments) && segments[start].table == nil && segments[end].table == nil &&
			segments[end].base-segments[start].base <= 0.35*max(segments[start].size, segments[end].size) {
			end++
		}
		row := segments[start:end]
		made := a.line(row)
		bounds.x0, bounds.x1 = min(bounds.x0, made.x0), max(bounds.x1, made.x1)
		lines = append(lines, made)
		start = end
	}
	lines = alignedTables(lines)
	for i := range lines {
		lines[i].column = len(a.page.columns)
		lines[i].parts, lines[i].words = nil, nil
	}
	a.page.columns = append(a.page.columns, bounds)
	a.page.lines = append(a.page.lines, lines...)
}

// asWritten reads spans in the order of the file.
func (a *arranger) asWritten(spans []span) {
	bounds := column{x0: math.Inf(1), x1: math.Inf(-1)}
	for start := 0; start < len(spans); {
		end := start + 1
		for end < len(spans) && math.Abs(spans[end].base-spans[start].base) < 0.3*spans[start].size && spans[end].x0 >= spans[end-1].x0 {
			end++
		}
		group := segment{
			x0: spans[start].x0, top: spans[start].top(), bottom: spans[start].bottom(), base: spans[start].base,
			size: spans[start].size, order: start, spans: spans[start:end],
		}
		for i := start; i < end; i++ {
			group.x1 = max(group.x1, spans[i].x1)
			group.glyphs += spans[i].glyphs
		}
		made := a.line([]segment{group})
		made.column, made.parts, made.words = len(a.page.columns), nil, nil
		bounds.x0, bounds.x1 = min(bounds.x0, made.x0), max(bounds.x1, made.x1)
		a.page.lines = append(a.page.lines, made)
		start = end
	}
	if len(spans) > 0 {
		a.page.columns = append(a.page.columns, bounds)
	}
}
