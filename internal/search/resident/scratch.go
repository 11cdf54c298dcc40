package resident

import "slices"

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

// marksFor returns cleared room for the marks of so many terms, to be left so.
func (m *scratch) marksFor(n int) marks {
	if len(m.marks) < n {
		m.marks = make(marks, max(n, shortMarks))
	}
	return m.marks
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
	// Hoare's quickselect; where it does not get on, the rest is sorted.
	low, high := 0, len(list)
	for rounds := 0; high-low > 16; rounds++ {
		if rounds == 64 {
			break
		}
		a, b, c := list[low], list[(low+high)/2], list[high-1]
		if less(b, a) < 0 {
			a, b = b, a
		}
		if less(c, b) < 0 {
			b = c
			if less(b, a) < 0 {
				b = a
			}
		}
		i, j := low, high-1
		for i <= j {
			for less(list[i], b) < 0 {
				i++
			}
			for less(b, list[j]) < 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j + 1
		case k > i:
			low = i
		default:
			return list[:k]
		}
	}
	slices.SortFunc(list[low:high], less)
	return list[:k]
}
