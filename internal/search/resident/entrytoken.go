package resident

import (
	"math/bits"

	"github.com/magpie-search/magpie/internal/index"
)

// maxPositions is how many positions a lexeme may stand at.
const maxPositions = 1 << 14

// entryTokens reads lexemes into terms by position.
type entryTokens struct {
	tokens []token
	// heads are the first of the tokens at each position, and one more; next the
	// further ones of each token.
	heads   []uint32
	next    []uint32
	present [maxPositions / 64]uint64
	found   []token
}

// read interns a passage's terms and returns them by position. The result is
// valid until the next call.
func (r *entryTokens) read(l index.Lexemes, t *interner) ([]token, error) {
	if r.heads == nil {
		r.heads = make([]uint32, maxPositions)
	}
	r.found, r.next = r.found[:0], r.next[:0]
	err := l.Each(func(term []byte, positions []uint16) {
		if len(positions) == 0 || len(term) > 0 && term[0] == '#' {
			return // no word: earlier versions marked passages with their collection
		}
		id := t.intern(term)
		for _, p := range positions {
			p &= maxPositions - 1
			if r.present[p>>6]>>(p&63)&1 == 0 {
				r.present[p>>6] |= 1 << (p & 63)
				r.heads[p] = 0
			}
			r.next = append(r.next, r.heads[p])
			r.found = append(r.found, token{id, p})
			r.heads[p] = number(len(r.found))
		}
	})
	r.tokens = r.tokens[:0]
	for w, word := range r.present {
		if word == 0 {
			continue
		}
		r.present[w] = 0
		for ; word != 0; word &= word - 1 {
			p := w<<6 + bits.TrailingZeros64(word)
			for i := r.heads[p]; i != 0; i = r.next[i-1] {
				r.tokens = append(r.tokens, r.found[i-1])
			}
		}
	}
	return r.tokens, err
}
