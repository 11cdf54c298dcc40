package resident

import (
	"slices"

	"github.com/magpie-search/magpie/internal/search/quickselect"
)

// scratch is the memory of one call, reused by later ones. Fields marked zero are
// zero between calls.
type scratch struct {
	query      queryVector
	saturation saturationTable
	scores     []float64     // by passage
	sample     []float64     // of scores
	candidates bitmap        // zero
	counts     []occurrences // zero
	marks      marks         // zero
	tokens     []token
	terms      []uint32 // term numbers
	cursors    []cursor
	words      []wordCursors
	passages   []uint32 // of a segment
	refs       []uint32 // passages of the snapshot
	distances  []uint16 // of the codes of refs
	list       []scored // by words
	compared   []scored // by vectors
}

// scratchFor returns scratch memory for a snapshot. The caller puts it back.
func (x *Index) scratchFor(s *Snapshot) *scratch {
	m, ok := x.scratch.Get().(*scratch)
	if !ok {
		m = new(scratch)
	}
	n := len(s.live) * 64
	if len(m.scores) < n {
		m.scores = make([]float64, n)
		m.counts = make([]occurrences, n)
		m.candidates = make(bitmap, n/64)
	}
	return m
}

// occurrences returns n zero occurrences. The caller leaves them zero.
func (m *scratch) occurrences(n int) []occurrences {
	if len(m.counts) < n {
		m.counts = make([]occurrences, n)
	}
	return m.counts[:n]
}

// scored is a passage of a snapshot with its score.
type scored struct {
	ref   uint32
	score float64
}

// top moves the k passages with the greatest scores to the front of the list, in no
// particular order. Of equal scores those with the smaller ids come first.
func (s *Snapshot) top(list []scored, k int) []scored {
	if k >= len(list) {
		return list
	}
	compare := func(a, b scored) int {
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
	return quickselect.First(list, k, compare)
}
