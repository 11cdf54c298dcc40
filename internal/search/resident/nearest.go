package resident

import (
	"cmp"
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

// rough appends the selected passages whose codes differ least from that of
// x.q: at least so many, and all that differ as much as the last of them.
func (v *View) rough(x *scratch, enough int, list []scored) []scored {
	s := v.snapshot
	length := len(x.q.vector)
	refs, far := x.refs[:0], x.far[:0]
	if cap(refs) < v.count {
		refs, far = make([]uint32, 0, v.count+v.count/8), make([]uint16, 0, v.count+v.count/8)
	}
	var heights []uint32
	for i := range s.parts {
		p := &s.parts[i]
		set := p.vectorsOf(length)
		if set == nil {
			continue
		}
		code, words := x.q.coded(set.coder), set.coder.words
		if heights == nil {
			heights = make([]uint32, 64*words+1)
		}
		var block [64]uint16
		for w, word := range p.within(v.selected) {
			if word = word & set.present(w); word == 0 {
				continue
			}
			// The vectors of 64 passages follow one another: with those
			// between it is still faster than one by one.
			first := set.slot(number(w<<6 + bits.TrailingZeros64(word)))
			last := set.slot(number(w<<6 + 63 - bits.LeadingZeros64(word)))
			differ(block[:], set.codes[first*words:(last+1)*words], code)
			for ; word != 0; word &= word - 1 {
				passage := number(w<<6 + bits.TrailingZeros64(word))
				d := block[set.slot(passage)-first]
				heights[d]++
				refs = append(refs, p.base+passage)
				far = append(far, d)
			}
		}
	}
	x.refs, x.far = refs, far
	limit, n := 0, 0
	for limit < len(heights) && n < enough {
		n += int(heights[limit])
		limit++
	}
	for i, d := range far {
		if int(d) < limit {
			list = append(list, scored{ref: refs[i]})
		}
	}
	return list
}
