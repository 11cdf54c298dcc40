package resident

import (
	"math/bits"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A segment keeps the terms of each passage in the order of their positions,
// each as its number plus termCode. A term stands one position after the one
// before it, the first at position 1, unless a mark says otherwise. Two bytes a
// term are half as much again as a code of one to three bytes would take, but are
// read five times as fast, and reading them is most of what a search does.
const (
	sameCode  = iota // the next term stands where the one before it does
	jumpCode         // the distance to the next term follows
	titleCode        // the terms of the document's title stand here
	longCodes        // a term's number follows in two parts, the lower one first
	termCode
	shortTerms = 1<<16 - termCode // how many terms need no longCodes
)

// token is a term at a position.
type token struct {
	term     uint32
	position uint16
}

// appendTerms codes tokens in the order of their positions, from the one after previous on.
func appendTerms(b []uint16, tokens []token, previous uint16) []uint16 {
	for _, t := range tokens {
		switch d := t.position - previous; d {
		case 0:
			b = append(b, sameCode)
		case 1:
		default:
			b = append(b, jumpCode, d)
		}
		if t.term < shortTerms {
			b = append(b, uint16(t.term)+termCode)
		} else {
			b = append(b, longCodes, uint16(t.term), uint16(t.term>>16)) //nolint:gosec // two halves
		}
		previous = t.position
	}
	return b
}

// coded returns the coded terms of a passage, and those of its title if they are
// kept apart.
func (s *segment) coded(passage uint32) (title, rest []uint16) {
	b := s.forward[s.forwardAt[passage]:s.forwardAt[passage+1]]
	if len(b) == 0 || b[0] != titleCode {
		return nil, b
	}
	d := s.documentOf[passage]
	return s.titles[s.titleAt[d]:s.titleAt[d+1]], b[1:]
}

// tokens appends the terms of a passage, in the order of their positions.
func (s *segment) tokens(tokens []token, passage uint32) []token {
	title, rest := s.coded(passage)
	position := uint16(0)
	for _, b := range [...][]uint16{title, rest} {
		distance := uint16(1)
		for i := 0; i < len(b); i++ {
			c := b[i]
			term := uint32(c) - termCode
			switch c {
			case sameCode:
				distance = 0
				continue
			case jumpCode:
				i++
				distance = b[i]
				continue
			case longCodes:
				term = uint32(b[i+1]) | uint32(b[i+2])<<16
				i += 2
			}
			position += distance
			distance = 1
			tokens = append(tokens, token{term, position})
		}
	}
	return tokens
}

// marks gives some terms of a segment a number above 0, by their numbers and
// termCode. notable are the codes of which a scan must take notice: those of
// marked terms, and those that are no terms. As bits they stay in the nearest
// cache, which the marks of a large dictionary do not.
type marks struct {
	of      []uint8
	notable [shortMarks / 64]uint64
	// digits are a sieve for the codes of marked terms: bits of the groups in which
	// some of them has a digit, by the place of the digit (the lowest first) and the
	// digit. A marked term has a group in common over all four of its digits, and
	// few others have.
	digits [4][16]byte
	codes  []uint16
	masks  []chosen
}

// shortMarks is how many codes there are.
const (
	shortMarks = 1 << 16
	_          = uint(1<<8 - 1 - rank.MaxWords) // every word has a mark
)

// set marks a term.
func (m *marks) set(term uint32, mark uint8) {
	code := term + termCode
	m.of[code] = mark
	if term < shortTerms {
		m.notable[code>>6] |= 1 << (code & 63)
	}
}

// unset takes a term's mark away.
func (m *marks) unset(term uint32) {
	code := term + termCode
	m.of[code] = 0
	if term < shortTerms {
		m.notable[code>>6] &^= 1 << (code & 63)
	}
}

// sieve makes the digits those of the marked terms.
func (m *marks) sieve(terms []uint32) {
	codes := m.codes[:0]
	for _, t := range terms {
		if t < shortTerms {
			codes = append(codes, uint16(t+termCode))
		}
	}
	slices.Sort(codes)
	m.codes = codes
	clear(m.digits[:])
	for i, c := range codes {
		group := byte(1) << (8 * i / len(codes)) // neighbours share their higher digits
		for place := range m.digits {
			m.digits[place][c>>(4*place)&0xf] |= group
		}
	}
}

// reset makes cleared room for the marks of so many terms. What is marked is to
// be unset again before the next time.
func (m *marks) reset(terms int) {
	if n := terms + termCode; len(m.of) < n {
		m.of = make([]uint8, n)
	}
	m.notable[0] |= 1<<termCode - 1
}

// appendHits counts the occurrences of the marked terms in a passage, whose words
// are one less than their marks, and appends those of reported words.
func (g *gatherer) appendHits(hits []rank.Hit, passage uint32) []rank.Hit {
	title, rest := g.part.coded(passage)
	from, position := len(hits), uint16(0)
	hits, position = g.scan(hits, title, position)
	hits, _ = g.scan(hits, rest, position)
	// Terms at the same position are in no order of words.
	for i := from + 1; i < len(hits); i++ {
		for j := i; j > from && hits[j].Position == hits[j-1].Position && hits[j].Word < hits[j-1].Word; j-- {
			hits[j], hits[j-1] = hits[j-1], hits[j]
		}
	}
	return hits
}

// chosen are masks of chosenStep codes that follow one another.
type chosen struct {
	terms uint32 // those that the sieve lets through
	same  uint32 // sameCode
	other uint32 // the other codes that are no terms
}

const chosenStep = 32

// scan is tokens for marked terms alone.
func (g *gatherer) scan(hits []rank.Hit, b []uint16, position uint16) ([]rank.Hit, uint16) {
	masks, ok := choose(g.marked.masks, b, &g.marked.digits)
	g.marked.masks = masks
	if !ok {
		return g.scanPlain(hits, b, position)
	}
	notable := &g.marked.notable
	position++ // of the code b[i] it is position+i
	next := 0  // before it are parts of a code that was seen
	for w := 0; w*chosenStep < len(b); w++ {
		m := masks[w]
		if left := len(b) - w*chosenStep; left < chosenStep {
			in := uint32(1)<<left - 1
			m.terms, m.same, m.other = m.terms&in, m.same&in, m.other&in
		}
		if m.other != 0 || next > w*chosenStep {
			hits, position, next = g.scanBlock(hits, b, w, m, position, next)
			continue
		}
		// Most of all: terms, some of which stand where the one before does.
		for mask := m.terms &^ m.same; mask != 0; mask &= mask - 1 {
			bit := bits.TrailingZeros32(mask)
			c := b[w*chosenStep+bit]
			if notable[c>>6]>>(c&63)&1 == 0 {
				continue
			}
			same := bits.OnesCount32(m.same & (1<<bit - 1))
			hits = g.hit(hits, g.marked.of[c], position+uint16(w*chosenStep+bit-2*same)) //nolint:gosec // positions wrap as they were coded
		}
		position -= uint16(2 * bits.OnesCount32(m.same)) //nolint:gosec // as above
	}
	return hits, position + uint16(len(b)) - 1 //nolint:gosec // as above
}

// scanBlock is scan for one block with any codes, the first of which may be parts
// of one in the block before.
func (g *gatherer) scanBlock(hits []rank.Hit, b []uint16, w int, m chosen, position uint16, next int) (found []rank.Hit, end uint16, after int) {
	for mask := m.terms | m.same | m.other; mask != 0; mask &= mask - 1 {
		i := w*chosenStep + bits.TrailingZeros32(mask)
		c := b[i]
		if i < next || g.marked.notable[c>>6]>>(c&63)&1 == 0 {
			continue
		}
		switch c {
		case sameCode:
			position -= 2
		case jumpCode:
			position += b[i+1] - 3
			next = i + 2
		case titleCode:
			position--
		case longCodes:
			if mark := g.marked.of[(int(b[i+1])|int(b[i+2])<<16)+termCode]; mark != 0 {
				hits = g.hit(hits, mark, position+uint16(i)) //nolint:gosec // positions wrap as they were coded
			}
			position -= 2
			next = i + 3
		default:
			hits = g.hit(hits, g.marked.of[c], position+uint16(i)) //nolint:gosec // as above
		}
	}
	return hits, position, next
}

// hit counts an occurrence of a marked term.
func (g *gatherer) hit(hits []rank.Hit, mark uint8, position uint16) []rank.Hit {
	word := int(mark) - 1
	g.counts.add(word, position)
	if word < g.report {
		hits = append(hits, rank.Hit{Word: uint16(word), Position: position}) //nolint:gosec // below MaxWords
	}
	return hits
}

// scanPlain is scan wherever there is nothing better.
func (g *gatherer) scanPlain(hits []rank.Hit, b []uint16, position uint16) ([]rank.Hit, uint16) {
	notable := &g.marked.notable
	for i := 0; i < len(b); i++ {
		c := b[i]
		position++
		if notable[c>>6]>>(c&63)&1 == 0 {
			continue // most of all
		}
		switch c {
		case sameCode:
			position -= 2
		case jumpCode:
			i++
			position += b[i] - 2
		case titleCode:
			position--
		case longCodes:
			if mark := g.marked.of[(int(b[i+1])|int(b[i+2])<<16)+termCode]; mark != 0 {
				hits = g.hit(hits, mark, position)
			}
			i += 2
		default:
			hits = g.hit(hits, g.marked.of[c], position)
		}
	}
	return hits, position
}

// titleTokens is how many of the tokens, which are in order, stand in the title.
func titleTokens(tokens []token) int {
	n := 0
	for n < len(tokens) && index.FieldOf(tokens[n].position) == index.FieldTitle {
		n++
	}
	return n
}
