package resident

import (
	"slices"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// filterPhrases removes passages from a selection of the part if they lack one of the
// phrases or have an excluded one.
func (p *part) filterPhrases(f *rank.Filter, selected bitmap) {
	matches := make(bitmap, len(selected))
	for _, phrase := range f.Phrases {
		if len(phrase) == 0 {
			continue
		}
		p.matchPhrase(phrase, selected, matches)
		copy(selected, matches)
	}
	for _, phrase := range f.Excluded {
		if len(phrase) == 0 {
			continue
		}
		p.matchPhrase(phrase, selected, matches)
		for w := range selected {
			selected[w] &^= matches[w]
		}
	}
}

// matchPhrase sets out to the selected passages that contain a phrase.
func (p *part) matchPhrase(phrase rank.Phrase, selected, out bitmap) {
	copy(out, selected)
	terms := make([][]uint32, len(phrase))
	for i, alternatives := range phrase {
		for _, t := range alternatives {
			if n, ok := p.terms.find(t); ok && !slices.Contains(terms[i], n) {
				terms[i] = append(terms[i], n)
			}
		}
		if len(terms[i]) == 0 {
			clear(out)
			return
		}
	}
	// The rarest word comes first: a small selection lets the others skip blocks.
	order := make([]int, len(terms))
	frequencies := make([]int, len(terms))
	for i, alternatives := range terms {
		order[i] = i
		for _, t := range alternatives {
			frequencies[i] += int(p.terms.passages[t])
		}
	}
	slices.SortFunc(order, func(a, b int) int { return frequencies[a] - frequencies[b] })
	having := make(bitmap, len(out))
	for _, i := range order {
		clear(having)
		for _, t := range terms[i] {
			list := p.postings(t)
			list.each(out, func(passage uint32, _ occurrences) { having.set(passage) })
		}
		copy(out, having)
	}
	if len(phrase) == 1 {
		return
	}
	m := newPhraseMatcher(terms)
	out.retain(func(passage uint32) bool { return m.matches(p.segment, passage) })
}

// A phraseMatcher finds a phrase in the tokens of passages by the Shift-And algorithm
// (Baeza-Yates and Gonnet, A New Approach to Text Searching, 1992): bit i of a state
// is set if the first i+1 words of the phrase end at a position.
type phraseMatcher struct {
	masks             map[uint32]bitmap // the places of a term in the phrase
	last              uint32            // bit of the whole phrase
	current, previous bitmap            // states of a position and the one before
	tokens            []token
}

func newPhraseMatcher(terms [][]uint32) *phraseMatcher {
	words := bitmapWords(len(terms))
	m := &phraseMatcher{
		masks: make(map[uint32]bitmap), last: u32(len(terms) - 1),
		current: make(bitmap, words), previous: make(bitmap, words),
	}
	for i, alternatives := range terms {
		for _, t := range alternatives {
			if m.masks[t] == nil {
				m.masks[t] = make(bitmap, words)
			}
			m.masks[t].set(u32(i))
		}
	}
	return m
}

// matches reports whether a passage contains the phrase.
func (m *phraseMatcher) matches(s *segment, passage uint32) bool {
	m.tokens = s.tokens(m.tokens[:0], passage)
	clear(m.current)
	clear(m.previous)
	position := uint16(0)
	for _, t := range m.tokens {
		mask, ok := m.masks[t.term]
		if !ok {
			continue
		}
		if t.position != position {
			m.current, m.previous = m.previous, m.current
			clear(m.current)
			if t.position != position+1 || index.FieldOf(position) != index.FieldOf(t.position) {
				clear(m.previous)
			}
			position = t.position
		}
		carry := uint64(1) // the phrase may begin at any position
		for w, b := range m.previous {
			m.current[w] |= mask[w] & (b<<1 | carry)
			carry = b >> 63
		}
		if m.current.has(m.last) {
			return true
		}
	}
	return false
}
