package resident

import (
	"slices"

	"github.com/magpie-search/magpie/internal/search/quickselect"
)

// scratch is memory of one call that the next one uses again. What it says is
// cleared is so between calls.
type scratch struct {
	damped  dampedTable
	scores  []float64 // of passages
	taken   bitmap    // cleared
	merged  []occurrences
	marks   marks // cleared
	tokens  []token
	found   []uint32
	terms   []uint32
	touched []uint32
	chosen  []uint32
	list    []scored
	sample  []float64
	q       question
	refs    []uint32
	far     []uint16
}

// scratchFor returns memory for a snapshot, to be put back.
func (x *Index) scratchFor(s *Snapshot) *scratch {
	m, ok := x.scratch.Get().(*scratch)
	if !ok {
		m = new(scratch)
	}
	n := len(s.live) * 64
	if len(m.scores) < n {
		m.scores = make([]float64, n)
		m.merged = make([]occurrences, n)
		m.taken = make(bitmap, n/64)
	}
	return m
}

// occurrences returns cleared room for so many, to be left so.
func (m *scratch) occurrences(n int) []occurrences {
	if len(m.merged) < n {
		m.merged = make([]occurrences, n)
	}
	return m.merged[:n]
}

// scored is a passage with a score.
type scored struct {
	ref   uint32
	score float64
}

// top moves the best k of a list to its front, in no particular order: those of
// greater score, and of the same score those with the smaller id.
func (s *Snapshot) top(list []scored, k int) []scored {
	if k >= len(list) {
		return list
	}
	less := func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		case a.ref == b.ref:
			return 0
		}
		x, y := s.id(a.ref), s.id(b.ref)
		return slices.Compare(x[:], y[:])
	}
	return quickselect.First(list, k, less)
}
