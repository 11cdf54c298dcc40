package resident

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// nearest returns the k selected passages whose vectors are most similar to x.query,
// ordered by number. A query vector without a direction has none.
//
// Where there are many passages it compares only the vectors with the closest binary
// codes; see the package comment for the recall.
func (v *View) nearest(x *scratch, k int) []scored {
	if x.query.scale == 0 || k <= 0 {
		return nil
	}
	s := v.snapshot
	length := len(x.query.vector)
	compared := max(k*s.index.opt.CompareFactor, s.index.opt.MinCompared)
	list := x.compared[:0]
	if v.count <= compared {
		v.eachVector(length, func(p *part, set *vectors, passage uint32, slot int) {
			list = append(list, scored{p.base + passage, set.similarity(slot, &x.query)})
		})
	} else {
		list = v.closestCodes(x, compared, list)
		for i := range list {
			if next := i + 8; next < len(list) {
				p := s.partOf(list[next].ref)
				set := p.vectorsOf(length)
				prefetch(set.components(set.slot(list[next].ref - p.base)))
			}
			p := s.partOf(list[i].ref)
			set := p.vectorsOf(length)
			list[i].score = set.similarity(set.slot(list[i].ref-p.base), &x.query)
		}
	}
	x.compared = list
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
		p.within(v.selected).each(func(passage uint32) {
			if slot := set.slot(passage); slot >= 0 {
				f(p, set, passage, slot)
			}
		})
	}
}

// sampleBlocks is the number of blocks of 64 passages of which one is sampled.
const sampleBlocks = 16

// closestCodes appends the selected passages whose codes have the smallest Hamming
// distances from the code of x.query: at least n, and all with the distance of the last
// of them. It estimates the distance from a sample, and collects all passages if the
// estimate was too small.
func (v *View) closestCodes(x *scratch, n int, list []scored) []scored {
	v.codesBelow(x, v.estimateLimit(x, n))
	if len(x.refs) < n {
		v.codesBelow(x, math.MaxUint16)
	}
	limit := distanceLimit(x.distances, n)
	for i, d := range x.distances {
		if int(d) < limit {
			list = append(list, scored{ref: x.refs[i]})
		}
	}
	return list
}

// estimateLimit returns a limit of the distance below which there are probably more
// than n codes.
func (v *View) estimateLimit(x *scratch, n int) int {
	sample := x.distances[:0]
	v.eachBlock(x, sampleBlocks, func(_ *part, set *vectors, w int, word uint64, first int, distances []uint16) {
		for ; word != 0; word &= word - 1 {
			sample = append(sample, distances[set.slot(u32(w<<6+bits.TrailingZeros64(word)))-first])
		}
	})
	x.distances = sample
	place := n/sampleBlocks*2 + 64
	if place >= len(sample) {
		return math.MaxUint16
	}
	return distanceLimit(sample, place)
}

// distanceLimit returns the smallest limit below which there are at least n of the
// distances, or one above all of them.
func distanceLimit(distances []uint16, n int) int {
	histogram := make([]int32, 1<<10)
	for _, d := range distances {
		if int(d) >= len(histogram) {
			histogram = append(histogram, make([]int32, int(d)+1-len(histogram))...)
		}
		histogram[d]++
	}
	limit := 0
	for limit < len(histogram) && n > 0 {
		n -= int(histogram[limit])
		limit++
	}
	return limit
}

// codesBelow sets x.refs to the selected passages whose codes have a distance below a
// limit, and x.distances to their distances.
func (v *View) codesBelow(x *scratch, limit int) {
	refs, all := x.refs[:0], x.distances[:0]
	v.eachBlock(x, 1, func(p *part, set *vectors, w int, word uint64, first int, distances []uint16) {
		base := p.base + u32(w<<6)
		if len(distances) == 64 && set.slots == nil {
			for word &= below((*[64]uint16)(distances), limit); word != 0; word &= word - 1 {
				i := bits.TrailingZeros64(word)
				refs, all = append(refs, base+u32(i)), append(all, distances[i])
			}
			return
		}
		for ; word != 0; word &= word - 1 {
			i := u32(bits.TrailingZeros64(word))
			if d := distances[set.slot(u32(w<<6)+i)-first]; int(d) < limit {
				refs, all = append(refs, base+i), append(all, d)
			}
		}
	})
	x.refs, x.distances = refs, all
}

// eachBlock calls f for every step-th block of 64 passages in which selected passages
// have a vector. w is the block's word in the part's bitmaps, and word holds these
// passages. distances are those of the codes from slot first on.
func (v *View) eachBlock(x *scratch, step int, f func(p *part, set *vectors, w int, word uint64, first int, distances []uint16)) {
	s := v.snapshot
	length := len(x.query.vector)
	var block [64]uint16
	for i := range s.parts {
		p := &s.parts[i]
		set := p.vectorsOf(length)
		if set == nil {
			continue
		}
		code, words := x.query.codeBy(set.quantizer), set.quantizer.words
		selected := p.within(v.selected)
		for w := 0; w < len(selected); w += step {
			word := selected[w] & set.present(w)
			if word == 0 {
				continue
			}
			// The codes of a block are adjacent. Comparing all between the first and the
			// last is faster than comparing them one by one.
			first := set.slot(u32(w<<6 + bits.TrailingZeros64(word)))
			last := set.slot(u32(w<<6 + 63 - bits.LeadingZeros64(word)))
			hamming(block[:], set.codes[first*words:(last+1)*words], code)
			f(p, set, w, word, first, block[:last-first+1])
		}
	}
}
