package resident

import (
	"math/bits"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// The forward index stores the terms of each passage in the order of their positions.
// A term is its number plus termCode. Each term stands one position after the term
// before it, the first one at position 1, unless a mark says otherwise. Two bytes a
// term take half as much memory again as varints, but are read five times as fast, and
// a search spends most of its time reading them.
const (
	sameCode  = iota // the next term has the position of the term before
	jumpCode         // the distance to the next term follows
	titleCode        // the terms of the document's title stand here
	longCode         // the number of a term follows in two halves, the lower one first
	termCode
	shortTerms = 1<<16 - termCode // terms with a number below it need no longCode
)

// A token is a term at a position.
type token struct {
	term     uint32
	position uint16
}

// appendCodes codes tokens, which are ordered by position. previous is the position
// before the first one.
func appendCodes(b []uint16, tokens []token, previous uint16) []uint16 {
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
			b = append(b, longCode, uint16(t.term), uint16(t.term>>16)) //nolint:gosec // two halves
		}
		previous = t.position
	}
	return b
}

// codes returns the coded terms of a passage: those of the title if it is stored with
// the document, and the others.
func (s *segment) codes(passage uint32) (title, text []uint16) {
	b := s.forward[s.forwardAt[passage]:s.forwardAt[passage+1]]
	if len(b) == 0 || b[0] != titleCode {
		return nil, b
	}
	d := s.documentOf[passage]
	return s.titles[s.titleAt[d]:s.titleAt[d+1]], b[1:]
}

// tokens appends the tokens of a passage, ordered by position.
func (s *segment) tokens(tokens []token, passage uint32) []token {
	title, text := s.codes(passage)
	position := uint16(0)
	for _, b := range [...][]uint16{title, text} {
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
			case longCode:
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

// marks map the terms of a query to its words, for a scan of the forward index.
type marks struct {
	mark []uint8 // by term number plus termCode: index of the word plus one, 0 for none
	// relevant has a bit for each 16-bit code that a scan must look at: those of marked
	// terms, and those that are no terms. It fits in the first-level cache, which mark
	// does not for a large dictionary.
	relevant [codeCount / 64]uint64
	// digits is a Bloom-like filter of the codes of marked terms, which are split into
	// eight groups. Bit g of digits[i][d] is set if a code of group g has the hexadecimal
	// digit d at place i (the lowest first). A marked code has a group that is set for
	// all four of its digits; few other codes have.
	digits [4][16]byte
	codes  []uint16
	masks  []codeMasks
}

const (
	codeCount = 1 << 16
	_         = uint(1<<8 - 1 - rank.MaxWords) // every word has a mark
)

// set marks a term.
func (m *marks) set(term uint32, mark uint8) {
	code := term + termCode
	m.mark[code] = mark
	if term < shortTerms {
		m.relevant[code>>6] |= 1 << (code & 63)
	}
}

// unset removes the mark of a term.
func (m *marks) unset(term uint32) {
	code := term + termCode
	m.mark[code] = 0
	if term < shortTerms {
		m.relevant[code>>6] &^= 1 << (code & 63)
	}
}

// setDigits builds the filter of the marked terms.
func (m *marks) setDigits(terms []uint32) {
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
		group := byte(1) << (8 * i / len(codes)) // neighbouring codes share their higher digits
		for place := range m.digits {
			m.digits[place][c>>(4*place)&0xf] |= group
		}
	}
}

// reset allocates unset marks for so many terms. The caller unsets its marks after use.
func (m *marks) reset(terms int) {
	if n := terms + termCode; len(m.mark) < n {
		m.mark = make([]uint8, n)
	}
	m.relevant[0] |= 1<<termCode - 1
}

// appendMatches counts the occurrences of the marked terms in a passage, and appends the
// matches of the first matchWords words.
func (g *gatherer) appendMatches(matches []rank.Match, passage uint32) []rank.Match {
	title, text := g.part.codes(passage)
	first, position := len(matches), uint16(0)
	matches, position = g.scan(matches, title, position)
	matches, _ = g.scan(matches, text, position)
	// Order the matches at the same position by word.
	for i := first + 1; i < len(matches); i++ {
		for j := i; j > first && matches[j].Position == matches[j-1].Position && matches[j].Word < matches[j-1].Word; j-- {
			matches[j], matches[j-1] = matches[j-1], matches[j]
		}
	}
	return matches
}

// codeMasks classify maskCodes consecutive codes, a bit each.
type codeMasks struct {
	terms uint32 // may be marked terms, by marks.digits
	same  uint32 // sameCode
	other uint32 // other codes that are no terms
}

const maskCodes = 32

// scan finds the marked terms in codes. position is the position before the first
// term. scan returns the matches and the position of the last term.
func (g *gatherer) scan(matches []rank.Match, b []uint16, position uint16) ([]rank.Match, uint16) {
	masks, ok := classify(g.marks.masks, b, &g.marks.digits)
	g.marks.masks = masks
	if !ok {
		return g.scanGeneric(matches, b, position)
	}
	relevant := &g.marks.relevant
	position++ // the position of the term b[i] is position+i
	next := 0  // codes before b[next] belong to an earlier code
	for w := 0; w*maskCodes < len(b); w++ {
		m := masks[w]
		if left := len(b) - w*maskCodes; left < maskCodes {
			in := uint32(1)<<left - 1
			m.terms, m.same, m.other = m.terms&in, m.same&in, m.other&in
		}
		if m.other != 0 || next > w*maskCodes {
			matches, position, next = g.scanBlock(matches, b, w, m, position, next)
			continue
		}
		// The common case: terms, some of them at the position of the term before.
		for mask := m.terms &^ m.same; mask != 0; mask &= mask - 1 {
			bit := bits.TrailingZeros32(mask)
			c := b[w*maskCodes+bit]
			if relevant[c>>6]>>(c&63)&1 == 0 {
				continue
			}
			same := bits.OnesCount32(m.same & (1<<bit - 1))
			matches = g.match(matches, g.marks.mark[c], position+uint16(w*maskCodes+bit-2*same)) //nolint:gosec // positions wrap as they were coded
		}
		position -= uint16(2 * bits.OnesCount32(m.same)) //nolint:gosec // as above
	}
	return matches, position + uint16(len(b)) - 1 //nolint:gosec // as above
}

// scanBlock is scan for one block with codes of any kind. The first ones may belong to
// a code of the block before.
func (g *gatherer) scanBlock(matches []rank.Match, b []uint16, w int, m codeMasks, position uint16, next int) (out []rank.Match, end uint16, after int) {
	for mask := m.terms | m.same | m.other; mask != 0; mask &= mask - 1 {
		i := w*maskCodes + bits.TrailingZeros32(mask)
		c := b[i]
		if i < next || g.marks.relevant[c>>6]>>(c&63)&1 == 0 {
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
		case longCode:
			if mark := g.marks.mark[(int(b[i+1])|int(b[i+2])<<16)+termCode]; mark != 0 {
				matches = g.match(matches, mark, position+uint16(i)) //nolint:gosec // positions wrap as they were coded
			}
			position -= 2
			next = i + 3
		default:
			matches = g.match(matches, g.marks.mark[c], position+uint16(i)) //nolint:gosec // as above
		}
	}
	return matches, position, next
}

// match counts an occurrence of a marked term.
func (g *gatherer) match(matches []rank.Match, mark uint8, position uint16) []rank.Match {
	word := int(mark) - 1
	g.counts.add(word, position)
	if word < g.matchWords {
		matches = append(matches, rank.Match{Word: uint16(word), Position: position}) //nolint:gosec // below MaxWords
	}
	return matches
}

// scanGeneric is scan in portable Go.
func (g *gatherer) scanGeneric(matches []rank.Match, b []uint16, position uint16) ([]rank.Match, uint16) {
	relevant := &g.marks.relevant
	for i := 0; i < len(b); i++ {
		c := b[i]
		position++
		if relevant[c>>6]>>(c&63)&1 == 0 {
			continue // the common case
		}
		switch c {
		case sameCode:
			position -= 2
		case jumpCode:
			i++
			position += b[i] - 2
		case titleCode:
			position--
		case longCode:
			if mark := g.marks.mark[(int(b[i+1])|int(b[i+2])<<16)+termCode]; mark != 0 {
				matches = g.match(matches, mark, position)
			}
			i += 2
		default:
			matches = g.match(matches, g.marks.mark[c], position)
		}
	}
	return matches, position
}

// titleTokens returns the number of tokens in the title. The tokens are ordered by
// position.
func titleTokens(tokens []token) int {
	n := 0
	for n < len(tokens) && index.FieldOf(tokens[n].position) == index.FieldTitle {
		n++
	}
	return n
}
