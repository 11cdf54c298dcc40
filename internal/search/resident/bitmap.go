package resident

import "math/bits"

// bitmap is a set of small numbers.
type bitmap []uint64

func bitmapWords(n int) int { return (n + 63) / 64 }

func (b bitmap) has(i uint32) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitmap) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitmap) unset(i uint32)    { b[i>>6] &^= 1 << (i & 63) }

func (b bitmap) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// eachWord calls f for the words that numbers from low to below high lie in,
// with the bits of those numbers, until f is false.
func eachWord(low, high uint32, f func(word, mask uint64) bool) {
	if low >= high {
		return
	}
	from, to := uint64(low>>6), uint64((high-1)>>6)
	first, last := ^uint64(0)<<(low&63), ^uint64(0)>>(63-(high-1)&63)
	for w := from; w <= to; w++ {
		mask := ^uint64(0)
		if w == from {
			mask &= first
		}
		if w == to {
			mask &= last
		}
		if !f(w, mask) {
			return
		}
	}
}

func (b bitmap) setRange(low, high uint32) {
	eachWord(low, high, func(w, mask uint64) bool {
		b[w] |= mask
		return true
	})
}

// any reports whether a number from low to below high is in the set.
func (b bitmap) any(low, high uint32) bool {
	if low >= high {
		return false
	}
	from, to := low>>6, (high-1)>>6
	first, last := ^uint64(0)<<(low&63), ^uint64(0)>>(63-(high-1)&63)
	if from == to {
		return b[from]&first&last != 0
	}
	if b[from]&first != 0 || b[to]&last != 0 {
		return true
	}
	for _, w := range b[from+1 : to] {
		if w != 0 {
			return true
		}
	}
	return false
}
