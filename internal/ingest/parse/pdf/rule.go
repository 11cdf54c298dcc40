package pdf

import (
	"cmp"
	"context"
	"math"
	"slices"
)

const (
	// maxRules is how many lines a page may have to be searched for tables. Maps and plots have more.
	maxRules = 3000
	// maxPathCalls limits the calls for the drawing of a page.
	maxPathCalls = 20_000
	// maxForms is how deep form objects are read.
	maxForms = 3
	// thin is the highest thickness, in points, of a filled shape that is a line.
	thin = 2.6
)

// rule is a straight horizontal or vertical line, at a y or x position.
type rule struct{ at, from, to float64 }

// rules are the straight lines on a page, in page space, and the dots, which may be bullets.
type rules struct {
	level, upright []rule
	dots           []dot
}

// dot is the center of a small shape.
type dot struct{ x, y float64 }

func (r rules) uprights() []rule { return r.upright }

// crosses reports whether a vertical line is between two points of a line of text.
func crosses(upright []rule, left, right, height float64) bool {
	for i := range upright {
		if u := &upright[i]; u.at >= left-0.5 && u.at <= right+0.5 && height >= u.from && height <= u.to {
			return true
		}
	}
	return false
}

// matrix is an affine transformation.
type matrix [6]float64

func (m matrix) apply(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// after returns the transformation that applies inner first.
func (m matrix) after(inner matrix) matrix {
	return matrix{
		m[0]*inner[0] + m[2]*inner[1], m[1]*inner[0] + m[3]*inner[1],
		m[0]*inner[2] + m[2]*inner[3], m[1]*inner[2] + m[3]*inner[3],
		m[0]*inner[4] + m[2]*inner[5] + m[4], m[1]*inner[4] + m[3]*inner[5] + m[5],
	}
}

// A ruleReader collects the lines of a page.
type ruleReader struct {
	*file
	found rules
	calls int
}

// rules reads the straight lines of a page. It returns none if there are too many for tables.
func (f *file) rules(ctx context.Context, handle uint64, objects int) rules {
	reader := ruleReader{file: f}
	for k := range objects {
		if !reader.more() {
			break
		}
		reader.object(ctx, f.call(ctx, "FPDFPage_GetObject", handle, uint64(k)), matrix{1, 0, 0, 1, 0, 0}, 0)
	}
	if len(reader.found.level)+len(reader.found.upright) > maxRules {
		return rules{}
	}
	return rules{level: mergeRules(reader.found.level), upright: mergeRules(reader.found.upright), dots: reader.found.dots}
}

func (r *ruleReader) more() bool {
	return r.err == nil && r.calls < maxPathCalls && len(r.found.level)+len(r.found.upright) <= maxRules
}

func (r *ruleReader) object(ctx context.Context, object uint64, within matrix, depth int) {
	const path, form = 2, 5
	r.calls++
	switch r.number(ctx, "FPDFPageObj_GetType", object) {
	case path:
		r.path(ctx, object, within)
	case form:
		if depth >= maxForms {
			return
		}
		inner := within.after(r.matrix(ctx, object))
		for k := range max(0, r.number(ctx, "FPDFFormObj_CountObjects", object)) {
			if !r.more() {
				break
			}
			r.object(ctx, r.call(ctx, "FPDFFormObj_GetObject", object, uint64(k)), inner, depth+1)
		}
	}
}

func (r *ruleReader) matrix(ctx context.Context, object uint64) matrix {
	m := matrix{1, 0, 0, 1, 0, 0}
	if r.number(ctx, "FPDFPageObj_GetMatrix", object, r.scratch) != 0 {
		r.floats(m[:])
	}
	return m
}

// path adds the lines of a path: a thin shape is a line, a stroked shape has edges.
func (r *ruleReader) path(ctx context.Context, object uint64, within matrix) {
	at := r.scratch
	r.calls += 2
	if r.number(ctx, "FPDFPath_GetDrawMode", object, at, at+4) == 0 {
		return
	}
	filled, stroked := r.word(0) != 0, r.word(4) != 0
	if !filled && !stroked || r.number(ctx, "FPDFPageObj_GetBounds", object, at, at+4, at+8, at+12) == 0 {
		return
	}
	var box [4]float64 // left, bottom, right, top
	r.floats(box[:])
	left, bottom := within.apply(box[0], box[1])
	right, top := within.apply(box[2], box[3])
	left, right, bottom, top = min(left, right), max(left, right), min(bottom, top), max(bottom, top)
	switch width, height := right-left, top-bottom; {
	case filled && width > 1 && height > 1 && width < 8 && height < 8 && width/height < 1.3 && height/width < 1.3:
		if len(r.found.dots) < maxRules {
			r.found.dots = append(r.found.dots, dot{(left + right) / 2, (bottom + top) / 2})
		}
	case width <= thin && height <= thin:
	case height <= thin:
		r.found.level = append(r.found.level, rule{at: (bottom + top) / 2, from: left, to: right})
	case width <= thin:
		r.found.upright = append(r.found.upright, rule{at: (left + right) / 2, from: bottom, to: top})
	case stroked:
		r.edges(ctx, object, within.after(r.matrix(ctx, object)))
	}
}

// edges adds the straight edges of a path.
func (r *ruleReader) edges(ctx context.Context, object uint64, within matrix) {
	const lineTo, curveTo, moveTo = 0, 1, 2
	count := r.number(ctx, "FPDFPath_CountSegments", object)
	if count > maxRules {
		return
	}
	var x, y, startX, startY float64
	edge := func(toX, toY float64) {
		switch dx, dy := math.Abs(toX-x), math.Abs(toY-y); {
		case dy <= 0.5 && dx > 3:
			r.found.level = append(r.found.level, rule{at: (y + toY) / 2, from: min(x, toX), to: max(x, toX)})
		case dx <= 0.5 && dy > 3:
			r.found.upright = append(r.found.upright, rule{at: (x + toX) / 2, from: min(y, toY), to: max(y, toY)})
		}
	}
	for k := range max(count, 0) {
		r.calls += 4
		segment := r.call(ctx, "FPDFPath_GetPathSegment", object, uint64(k))
		if segment == 0 || !r.more() {
			return
		}
		kind := r.number(ctx, "FPDFPathSegment_GetType", segment)
		closes := r.number(ctx, "FPDFPathSegment_GetClose", segment) != 0
		r.call(ctx, "FPDFPathSegment_GetPoint", segment, r.scratch, r.scratch+4)
		var point [2]float64
		r.floats(point[:])
		toX, toY := within.apply(point[0], point[1])
		switch kind {
		case moveTo:
			startX, startY = toX, toY
		case lineTo:
			edge(toX, toY)
		case curveTo:
		}
		x, y = toX, toY
		if closes {
			edge(startX, startY)
			x, y = startX, startY
		}
	}
}

// mergeRules joins lines that continue each other.
func mergeRules(list []rule) []rule {
	slices.SortFunc(list, func(a, b rule) int { return cmp.Compare(a.at, b.at) })
	var merged []rule
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && list[end].at-list[start].at <= 1 {
			end++
		}
		level := list[start:end]
		slices.SortFunc(level, func(a, b rule) int { return cmp.Compare(a.from, b.from) })
		first := len(merged)
		for _, next := range level {
			if n := len(merged); n > first && next.from <= merged[n-1].to+2 {
				merged[n-1].to = max(merged[n-1].to, next.to)
				continue
			}
			merged = append(merged, next)
		}
		start = end
	}
	return merged
}

// turned returns the lines in the space of text in a direction, none for slanted text.
func (r rules) turned(t turn) rules {
	if t%90 != 0 {
		return rules{}
	}
	var result rules
	add := func(x0, y0, x1, y1 float64) {
		left, top, right, bottom := t.box(x0, y0, x1, y1)
		if bottom-top < right-left {
			result.level = append(result.level, rule{at: top, from: left, to: right})
		} else {
			result.upright = append(result.upright, rule{at: left, from: top, to: bottom})
		}
	}
	for _, l := range r.level {
		add(l.from, l.at, l.to, l.at)
	}
	for _, u := range r.upright {
		add(u.at, u.from, u.at, u.to)
	}
	for _, d := range r.dots {
		x, y := t.apply(d.x, d.y)
		result.dots = append(result.dots, dot{x, y})
	}
	return result
}

// bullets adds bullets to spans with a dot on their left.
func (r rules) bullets(spans []span) {
	if len(r.dots) == 0 {
		return
	}
	dots := slices.Clone(r.dots)
	slices.SortFunc(dots, func(a, b dot) int { return cmp.Compare(a.y, b.y) })
	for i := range spans {
		s := &spans[i]
		from, _ := slices.BinarySearchFunc(dots, s.base-0.75*s.size, func(d dot, y float64) int { return cmp.Compare(d.y, y) })
		for _, d := range dots[from:] {
			if d.y > s.base+0.1*s.size {
				break
			}
			if gap := s.x0 - d.x; gap > 0.3*s.size && gap < 2.5*s.size {
				s.text, s.x0 = "• "+s.text, d.x
				break
			}
		}
	}
}
