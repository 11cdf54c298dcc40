package resident

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// See the package's comment for what these cost and bring.
const (
	defaultRescored      = 4
	defaultLeastRescored = 1000
)

// nearest are the passages nearest to a vector, by their numbers; a search asks
// for the same ones more than once.
type nearest struct {
	vector []float32
	k      int
	list   []scored
}

// near returns the k selected passages that are most similar to the question x.q.
// A question without a direction has none.
func (v *View) near(x *scratch, k int) []scored {
	if x.q.inverse == 0 || k <= 0 {
		v.nearest = nearest{}
		return nil
	}
	if v.nearest.vector != nil && v.nearest.k == k && slices.Equal(v.nearest.vector, x.q.vector) {
		return v.nearest.list
	}
	list := v.findNear(x, k)
	v.nearest = nearest{vector: slices.Clone(x.q.vector), k: k, list: list}
	return list
}

func (v *View) findNear(x *scratch, k int) []scored {
	s := v.snapshot
	length := len(x.q.vector)
	enough := max(k*s.index.opt.Rescored, s.index.opt.LeastRescored)
	list := x.list[:0]
	if v.count <= enough {
		v.eachVector(length, func(p *part, set *vectors, passage uint32, slot int) {
			list = append(list, scored{p.base + passage, set.similarity(slot, &x.q)})
		})
	} else {
		list = v.rough(x, enough, list)
		for i := range list {
			if ahead := i + 8; ahead < len(list) {
				p := s.partOf(list[ahead].ref)
				set := p.vectorsOf(length)
				prefetch(set.components(set.slot(list[ahead].ref - p.base)))
			}
			p := s.partOf(list[i].ref)
			set := p.vectorsOf(length)
			list[i].score = set.similarity(set.slot(list[i].ref-p.base), &x.q)
		}
	}
	x.list = list
	best := slices.Clone(s.top(list, k))
	slices.SortFunc(best, func(a, b scored) int { return cmp.Compare(a.ref, b.ref) })
	return best
}

// eachVector calls f for the selected passages that have a vector of a length.
func (v *View) eachVector(length int, f func(p *part, set *vectors, passage uint32, slot int)) {
	s := v.snapshot
	for i := range s.parts {
		p := &s.parts[i]
		set := p.vectorsOf(length)
		if set == nil {
			continue
		}
		for w, word := range p.within(v.selected) {
			for ; word != 0; word &= word - 1 {
				passage := number(w<<6 + bits.TrailingZeros64(word))
				if slot := set.slot(passage); slot >= 0 {
					f(p, set, passage, slot)
				}
			}
		}
	}
}

// roughStep is how many blocks of 64 passages one of a sample stands for.
const roughStep = 16

// rough appends the selected passages whose codes differ least from that of
// x.q: at least so many, and all that differ as much as the last of them. A
// sample says how much that may be; should it have said too little, all are
// looked at again.
func (v *View) rough(x *scratch, enough int, list []scored) []scored {
	v.closer(x, v.limit(x, enough))
	if len(x.refs) < enough {
		v.closer(x, math.MaxUint16)
	}
	limit := within(x.far, enough)
	for i, d := range x.far {
		if int(d) < limit {
			list = append(list, scored{ref: x.refs[i]})
		}
	}
	return list
}

// limit is a difference below which somewhat more than enough codes are, as far
// as a sample of them can tell.
func (v *View) limit(x *scratch, enough int) int {
	far := x.far[:0]
	v.eachBlock(x, roughStep, func(_ *part, set *vectors, w int, word uint64, first int, block []uint16) {
		for ; word != 0; word &= word - 1 {
			far = append(far, block[set.slot(number(w<<6+bits.TrailingZeros64(word)))-first])
		}
	})
	x.far = far
	place := enough/roughStep*2 + 64
	if place >= len(far) {
		return math.MaxUint16
	}
	return within(far, place)
}

// within is the least limit below which at least n of the differences are, or
// one above all of them.
func within(far []uint16, n int) int {
	heights := make([]int32, 1<<10)
	for _, d := range far {
		if int(d) >= len(heights) {
			heights = append(heights, make([]int32, int(d)+1-len(heights))...)
		}
		heights[d]++
	}
	limit := 0
	for limit < len(heights) && n > 0 {
		n -= int(heights[limit])
		limit++
	}
	return limit
}

// closer gathers the selected passages whose codes differ by less than a limit,
// and by how much.
func (v *View) closer(x *scratch, limit int) {
	refs, far := x.refs[:0], x.far[:0]
	v.eachBlock(x, 1, func(p *part, set *vectors, w int, word uint64, first int, block []uint16) {
		base := p.base + number(w<<6)
		if len(block) == 64 && set.slots == nil {
			for word &= below((*[64]uint16)(block), limit); word != 0; word &= word - 1 {
				i := bits.TrailingZeros64(word)
				refs, far = append(refs, base+number(i)), append(far, block[i])
			}
			return
		}
		for ; word != 0; word &= word - 1 {
			i := number(bits.TrailingZeros64(word))
			if d := block[set.slot(number(w<<6)+i)-first]; int(d) < limit {
				refs, far = append(refs, base+i), append(far, d)
			}
		}
	})
	x.refs, x.far = refs, far
}

// eachBlock calls f for every step-th block of 64 passages in which some that
// are selected have a vector: with the block's number in its part, those
// passages, and by how much the codes of the vectors from a first one on differ
// from that of x.q.
func (v *View) eachBlock(x *scratch, step int, f func(p *part, set *vectors, w int, word uint64, first int, block []uint16)) {
	s := v.snapshot
	length := len(x.q.vector)
	var block [64]uint16
	for i := range s.parts {
		p := &s.parts[i]
		set := p.vectorsOf(length)
		if set == nil {
			continue
		}
		code, words := x.q.coded(set.coder), set.coder.words
		selected := p.within(v.selected)
		for w := 0; w < len(selected); w += step {
			word := selected[w] & set.present(w)
			if word == 0 {
				continue
			}
			// The vectors of 64 passages follow one another: with those
			// between it is still faster than one by one.
			first := set.slot(number(w<<6 + bits.TrailingZeros64(word)))
			last := set.slot(number(w<<6 + 63 - bits.LeadingZeros64(word)))
			differ(block[:], set.codes[first*words:(last+1)*words], code)
			f(p, set, w, word, first, block[:last-first+1])
		}
	}
}
