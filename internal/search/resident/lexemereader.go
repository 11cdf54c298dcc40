package resident

import (
	"math/bits"

	"github.com/magpie-search/magpie/internal/index"
)

// maxPositions is the number of positions that a lexeme may have.
const maxPositions = 1 << 14

// A lexemeReader sorts the lexemes of passages by position.
type lexemeReader struct {
	sorted []token
	// The tokens at each position are a linked list in unsorted. Links are indexes
	// plus one; 0 ends the list.
	unsorted []token
	heads    []uint32 // by position
	next     []uint32 // by token
	occupied [maxPositions / 64]uint64
}

// read interns a passage's terms and returns them ordered by position. The result is
// valid until the next call.
func (r *lexemeReader) read(l index.Lexemes, t *interner) ([]token, error) {
	if r.heads == nil {
		r.heads = make([]uint32, maxPositions)
	}
	r.unsorted, r.next = r.unsorted[:0], r.next[:0]
	err := l.Each(func(term []byte, positions []uint16) {
		if len(positions) == 0 || len(term) > 0 && term[0] == '#' {
			return // the mark of a collection, which earlier versions wrote
		}
		id := t.intern(term)
		for _, p := range positions {
			p &= maxPositions - 1
			if r.occupied[p>>6]>>(p&63)&1 == 0 {
				r.occupied[p>>6] |= 1 << (p & 63)
				r.heads[p] = 0
			}
			r.next = append(r.next, r.heads[p])
			r.unsorted = append(r.unsorted, token{id, p})
			r.heads[p] = u32(len(r.unsorted))
		}
	})
	r.sorted = r.sorted[:0]
	for w, word := range r.occupied {
		if word == 0 {
			continue
		}
		r.occupied[w] = 0
		for ; word != 0; word &= word - 1 {
			p := w<<6 + bits.TrailingZeros64(word)
			for i := r.heads[p]; i != 0; i = r.next[i-1] {
				r.sorted = append(r.sorted, r.unsorted[i-1])
			}
		}
	}
	return r.sorted, err
}
