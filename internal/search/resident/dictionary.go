package resident

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// A dictionary holds the terms of a segment. Terms are numbered by falling document
// frequency, then by their bytes, so that common terms have small numbers. The rank
// of a term is its place in the order of bytes.
type dictionary struct {
	text   string   // all terms by rank
	ends   []uint32 // end of each rank in text
	number []uint32 // by rank
	rank   []uint32 // by number
	// passages is the number of the segment's passages, dead ones included, that
	// contain a term, by the term's number.
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

// lowerBound returns the first rank of a term that is not below text.
func (d *dictionary) lowerBound(text string) uint32 {
	return u32(sort.Search(len(d.ends), func(i int) bool { return d.at(u32(i)) >= text }))
}

// find returns the number of a term.
func (d *dictionary) find(term string) (uint32, bool) {
	r := d.lowerBound(term)
	if int(r) == len(d.ends) || d.at(r) != term {
		return 0, false
	}
	return d.number[r], true
}

// withPrefix returns the ranks of the terms with a prefix: from to to-1.
func (d *dictionary) withPrefix(prefix string) (from, to uint32) {
	from = d.lowerBound(prefix)
	n := sort.Search(len(d.ends)-int(from), func(i int) bool {
		t := d.at(from + u32(i))
		return len(t) < len(prefix) || t[:len(prefix)] != prefix
	})
	return from, from + u32(n)
}

func (d *dictionary) bytes() int64 {
	return int64(len(d.text) + 4*(cap(d.ends)+cap(d.number)+cap(d.rank)+cap(d.passages)))
}

// newDictionary returns the dictionary of an interner's terms, given the number of
// passages that contain each, and the number of each interned term in the dictionary.
func newDictionary(t *interner, passages []uint32) (*dictionary, []uint32) {
	type sorted struct {
		key uint64 // the first bytes, which mostly decide the order
		id  uint32
	}
	terms := make([]sorted, len(t.ends))
	var head [8]byte
	for i := range terms {
		head = [8]byte{}
		copy(head[:], t.term(u32(i)))
		terms[i] = sorted{binary.BigEndian.Uint64(head[:]), u32(i)}
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
		d.ends[r] = u32(len(text))
		d.rank[r] = u32(r)
	}
	d.text = string(text)
	slices.SortStableFunc(d.rank, func(a, b uint32) int {
		return cmp.Compare(passages[terms[b].id], passages[terms[a].id])
	})
	numbers := make([]uint32, len(terms))
	for n, r := range d.rank {
		id := terms[r].id
		d.number[r], d.passages[n], numbers[id] = u32(n), passages[id], u32(n)
	}
	return d, numbers
}
