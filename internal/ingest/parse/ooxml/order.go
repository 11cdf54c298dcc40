package ooxml

import (
	"cmp"
	"slices"
)

// box is the position and size of a shape on a slide, in EMU.
type box struct{ x, y, w, h int64 }

const (
	// maxOrdered is how many shapes are cut into rows and columns, maxCuts how often an area is cut.
	maxOrdered = 1000
	maxCuts    = 24
)

// inReadingOrder sorts shapes by the recursive XY-cut: the slide is cut into rows at horizontal gaps, rows into columns
// at vertical gaps, and so on. Shapes without gaps between them are read from top to bottom and from left to right.
func inReadingOrder(shapes []*shape, cuts int) {
	if len(shapes) < 2 {
		return
	}
	if cuts > 0 && len(shapes) <= maxOrdered {
		vertical := func(s *shape) (from, to int64) { return s.box.y, s.box.y + s.box.h }
		horizontal := func(s *shape) (from, to int64) { return s.box.x, s.box.x + s.box.w }
		for _, extent := range []func(*shape) (int64, int64){vertical, horizontal} {
			if bands := cutAtGaps(shapes, extent); len(bands) > 1 {
				for _, band := range bands {
					inReadingOrder(band, cuts-1)
				}
				return
			}
		}
	}
	slices.SortStableFunc(shapes, func(a, b *shape) int {
		return cmp.Or(cmp.Compare(a.box.y, b.box.y), cmp.Compare(a.box.x, b.box.x))
	})
}

// cutAtGaps sorts shapes along an axis and splits them at gaps. Shapes may overlap a little.
func cutAtGaps(shapes []*shape, extent func(*shape) (from, to int64)) [][]*shape {
	slices.SortStableFunc(shapes, func(a, b *shape) int {
		fromA, _ := extent(a)
		fromB, _ := extent(b)
		return cmp.Compare(fromA, fromB)
	})
	var bands [][]*shape
	begin := 0
	var end int64
	for i, s := range shapes {
		from, to := extent(s)
		slack := (to - from) / 8
		if i > begin && from+slack >= end {
			bands = append(bands, shapes[begin:i])
			begin = i
		}
		if i == begin {
			end = to - slack
		}
		end = max(end, to-slack)
	}
	return append(bands, shapes[begin:])
}
