package resident

import "math/bits"

// A bitmap is a set of small numbers.
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

// setRange adds the numbers from low to high-1.
func (b bitmap) setRange(low, high uint32) {
	if low >= high {
		return
	}
	from, to := low>>6, (high-1)>>6
	first, last := ^uint64(0)<<(low&63), ^uint64(0)>>(63-(high-1)&63)
	if from == to {
		b[from] |= first & last
		return
	}
	b[from] |= first
	for w := from + 1; w < to; w++ {
		b[w] = ^uint64(0)
	}
	b[to] |= last
}

// each calls f for the numbers in the set, in rising order.
func (b bitmap) each(f func(uint32)) {
	for w, word := range b {
		for ; word != 0; word &= word - 1 {
			f(u32(w<<6 + bits.TrailingZeros64(word)))
		}
	}
}

// retain removes the numbers for which f is false.
func (b bitmap) retain(f func(uint32) bool) {
	for w, word := range b {
		for unseen := word; unseen != 0; unseen &= unseen - 1 {
			if i := bits.TrailingZeros64(unseen); !f(u32(w<<6 + i)) {
				b[w] &^= 1 << i
			}
		}
	}
}

// any reports whether the set has a number from low to high-1.
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
