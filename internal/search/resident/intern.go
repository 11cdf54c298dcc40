package resident

import "hash/maphash"

// An interner numbers terms in the order in which they are first seen. It stores
// their bytes in one slice: a map of strings would take twice the memory and an
// allocation for each term.
type interner struct {
	seed  maphash.Seed
	table []uint64 // hash<<32 | number+1, 0 for a free slot
	blob  []byte
	ends  []uint32 // end of each term in blob
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), table: make([]uint64, 1<<10)}
}

func (t *interner) term(n uint32) []byte {
	start := uint32(0)
	if n > 0 {
		start = t.ends[n-1]
	}
	return t.blob[start:t.ends[n]]
}

func (t *interner) intern(term []byte) uint32 {
	h := maphash.Bytes(t.seed, term)
	tag, mask := h>>32, uint64(len(t.table)-1)
	for i := h & mask; ; i = (i + 1) & mask {
		v := t.table[i]
		if v == 0 {
			return t.add(term, tag, i)
		}
		if n := uint32(v) - 1; v>>32 == tag && string(t.term(n)) == string(term) { //nolint:gosec // the lower half
			return n
		}
	}
}

func (t *interner) add(term []byte, tag, slot uint64) uint32 {
	n := u32(len(t.ends))
	t.blob = append(t.blob, term...)
	t.ends = append(t.ends, u32(len(t.blob)))
	t.table[slot] = tag<<32 | uint64(n+1)
	if 2*len(t.ends) > len(t.table) {
		t.grow()
	}
	return n
}

func (t *interner) grow() {
	t.table = make([]uint64, 2*len(t.table))
	mask := uint64(len(t.table) - 1)
	for n := range t.ends {
		h := maphash.Bytes(t.seed, t.term(u32(n)))
		i := h & mask
		for t.table[i] != 0 {
			i = (i + 1) & mask
		}
		t.table[i] = h>>32<<32 | uint64(n+1)
	}
}

func (t *interner) bytes() int64 {
	return int64(8*cap(t.table) + cap(t.blob) + 4*cap(t.ends))
}
