package ooxml

import (
	"cmp"
	"slices"
)

// box is where a shape stands on a slide, in the units of the file.
type box struct{ x, y, w, h int64 }

const (
	// maxOrdered is how many shapes are looked at for rows and columns, maxCuts how often a part of a slide is cut further.
	maxOrdered = 1000
	maxCuts    = 24
)

// inReadingOrder sorts shapes as they are read: the slide is cut into rows where nothing stands across, rows into columns,
// and so on; what cannot be cut is read from top to bottom and from left to right.
func inReadingOrder(shapes []*shape, cuts int) {
	if len(shapes) < 2 {
		return
	}
	if cuts > 0 && len(shapes) <= maxOrdered {
		vertical := func(s *shape) (from, to int64) { return s.box.y, s.box.y + s.box.h }
		horizontal := func(s *shape) (from, to int64) { return s.box.x, s.box.x + s.box.w }
		for _, extent := range []func(*shape) (int64, int64){vertical, horizontal} {
			if bands := cutApart(shapes, extent); len(bands) > 1 {
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

// cutApart sorts shapes by where they begin and parts them where none of them stands. Shapes may overlap a little.
func cutApart(shapes []*shape, extent func(*shape) (from, to int64)) [][]*shape {
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
