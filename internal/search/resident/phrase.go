package resident

import (
	"math/bits"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// filterPhrases takes passages out of a selection of the part that lack one of
// the phrases or have an excluded one.
func (p *part) filterPhrases(f *rank.Filter, selected bitmap) {
	with := make(bitmap, len(selected))
	for _, phrase := range f.Phrases {
		if len(phrase) == 0 {
			continue
		}
		p.matches(phrase, selected, with)
		copy(selected, with)
	}
	for _, phrase := range f.Excluded {
		if len(phrase) == 0 {
			continue
		}
		p.matches(phrase, selected, with)
		for w := range selected {
			selected[w] &^= with[w]
		}
	}
}

// matches sets out to the selected passages that a phrase stands in.
func (p *part) matches(phrase rank.Phrase, selected, out bitmap) {
	copy(out, selected)
	terms := make([][]uint32, len(phrase))
	for i, place := range phrase {
		for _, t := range place {
			if n, ok := p.terms.find(t); ok && !slices.Contains(terms[i], n) {
				terms[i] = append(terms[i], n)
			}
		}
		if len(terms[i]) == 0 {
			clear(out)
			return
		}
	}
	// The rarest place first: what is left of the selection lets the others skip blocks.
	order := make([]int, len(terms))
	sizes := make([]int, len(terms))
	for i, any := range terms {
		order[i] = i
		for _, t := range any {
			sizes[i] += int(p.terms.passages[t])
		}
	}
	slices.SortFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	here := make(bitmap, len(out))
	for _, i := range order {
		clear(here)
		for _, t := range terms[i] {
			list := p.postings(t)
			list.each(out, func(passage uint32, _ occurrences) { here.set(passage) })
		}
		copy(out, here)
	}
	if len(phrase) == 1 {
		return
	}
	m := newMatcher(terms)
	for w, word := range out {
		for ; word != 0; word &= word - 1 {
			i := bits.TrailingZeros64(word)
			if !m.in(p.segment, number(w<<6+i)) {
				out[w] &^= 1 << i
			}
		}
	}
}

// matcher finds a phrase in the terms of passages. It keeps, for each place,
// whether the phrase up to there ends at the position at hand (Baeza-Yates and
// Gonnet, A New Approach to Text Searching, 1992).
type matcher struct {
	places      map[uint32]bitmap // of the phrase, by term
	last        uint32            // place
	now, before bitmap
	tokens      []token
}

func newMatcher(terms [][]uint32) *matcher {
	words := bitmapWords(len(terms))
	m := &matcher{
		places: make(map[uint32]bitmap), last: number(len(terms) - 1),
		now: make(bitmap, words), before: make(bitmap, words),
	}
	for place, any := range terms {
		for _, t := range any {
			if m.places[t] == nil {
				m.places[t] = make(bitmap, words)
			}
			m.places[t].set(number(place))
		}
	}
	return m
}

func (m *matcher) in(s *segment, passage uint32) bool {
	m.tokens = s.tokens(m.tokens[:0], passage)
	clear(m.now)
	clear(m.before)
	at := uint16(0)
	for _, t := range m.tokens {
		places, ok := m.places[t.term]
		if !ok {
			continue
		}
		if t.position != at {
			m.now, m.before = m.before, m.now
			clear(m.now)
			if t.position != at+1 || index.FieldOf(at) != index.FieldOf(t.position) {
				clear(m.before)
			}
			at = t.position
		}
		carry := uint64(1) // the phrase may begin anywhere
		for w, b := range m.before {
			m.now[w] |= places[w] & (b<<1 | carry)
			carry = b >> 63
		}
		if m.now.has(m.last) {
			return true
		}
	}
	return false
}
