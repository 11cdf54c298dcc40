package resident

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// dictionary holds the terms of a segment. A term's number is its place by
// falling number of passages (then by its bytes), so that common terms have
// short codes; its rank is its place by bytes.
type dictionary struct {
	text   string   // all terms by rank
	ends   []uint32 // of each rank in text
	number []uint32 // by rank
	rank   []uint32 // by number
	// passages is in how many passages of the segment, dead ones included, a
	// term stands, by number: falling.
	passages []uint32
}

func (d *dictionary) at(rank uint32) string {
	start := uint32(0)
	if rank > 0 {
		start = d.ends[rank-1]
	}
	return d.text[start:d.ends[rank]]
}

func (d *dictionary) term(number uint32) string { return d.at(d.rank[number]) }

// from returns the first rank of a term that is not below text.
func (d *dictionary) from(text string) uint32 {
	return number(sort.Search(len(d.ends), func(i int) bool { return d.at(number(i)) >= text }))
}

// find returns the number of a term.
func (d *dictionary) find(term string) (uint32, bool) {
	r := d.from(term)
	if int(r) == len(d.ends) || d.at(r) != term {
		return 0, false
	}
	return d.number[r], true
}

// prefixed returns the ranks, from and to below, of the terms with a prefix.
func (d *dictionary) prefixed(prefix string) (from, to uint32) {
	from = d.from(prefix)
	rest := len(d.ends) - int(from)
	n := sort.Search(rest, func(i int) bool {
		t := d.at(from + number(i))
		return len(t) < len(prefix) || t[:len(prefix)] != prefix
	})
	return from, from + number(n)
}

func (d *dictionary) bytes() int64 {
	return int64(len(d.text) + 4*(cap(d.ends)+cap(d.number)+cap(d.rank)+cap(d.passages)))
}

// newDictionary orders the terms of an interner, of which passages tells in how
// many each stands. The second result is the number of each interned term.
func newDictionary(t *interner, passages []uint32) (*dictionary, []uint32) {
	type sorted struct {
		key uint64 // the first bytes: they mostly decide
		id  uint32
	}
	terms := make([]sorted, len(t.ends))
	var head [8]byte
	for i := range terms {
		head = [8]byte{}
		copy(head[:], t.term(number(i)))
		terms[i] = sorted{binary.BigEndian.Uint64(head[:]), number(i)}
	}
	slices.SortFunc(terms, func(a, b sorted) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return bytes.Compare(t.term(a.id), t.term(b.id))
	})
	d := &dictionary{
		ends: make([]uint32, len(terms)), number: make([]uint32, len(terms)),
		rank: make([]uint32, len(terms)), passages: make([]uint32, len(terms)),
	}
	text := make([]byte, 0, len(t.blob))
	for r, s := range terms {
		text = append(text, t.term(s.id)...)
		d.ends[r] = number(len(text))
		d.rank[r] = number(r)
	}
	d.text = string(text)
	slices.SortStableFunc(d.rank, func(a, b uint32) int {
		return cmp.Compare(passages[terms[b].id], passages[terms[a].id])
	})
	numbers := make([]uint32, len(terms))
	for n, r := range d.rank {
		id := terms[r].id
		d.number[r], d.passages[n], numbers[id] = number(n), passages[id], number(n)
	}
	return d, numbers
}
