package resident

import (
	"magpie/internal/index"
	"magpie/internal/search/rank"
)

// A passage's terms are kept in the order of their positions, each as a code of
// its number plus termCode. A term stands one position after the one before it,
// the first at position 1, unless a mark says otherwise.
const (
	sameCode  = iota // the next term stands where the one before it does
	jumpCode         // a code of the distance to the next term follows
	titleCode        // the terms of the document's title stand here
	termCode
)

// token is a term at a position.
type token struct {
	term     uint32
	position uint16
}

// appendTokens codes tokens in the order of their positions, from the one after previous on.
func appendTokens(b []byte, tokens []token, previous uint16) []byte {
	for _, t := range tokens {
		switch d := t.position - previous; d {
		case 0:
			b = append(b, sameCode)
		case 1:
		default:
			b = appendCode(append(b, jumpCode), uint32(d))
		}
		b = appendCode(b, t.term+termCode)
		previous = t.position
	}
	return b
}

// tokens appends the terms of a passage, in the order of their positions.
func (s *segment) tokens(tokens []token, passage uint32) []token {
	b := s.forward[s.forwardAt[passage]:s.forwardAt[passage+1]]
	position := uint16(0)
	if len(b) > 0 && b[0] == titleCode {
		tokens, position = decode(tokens, s.title(s.documentOf[passage]), position)
		b = b[1:]
	}
	tokens, _ = decode(tokens, b, position)
	return tokens
}

// title returns the coded terms of a document's title.
func (s *segment) title(document uint32) []byte {
	return s.titles[s.titleAt[document]:s.titleAt[document+1]]
}

func decode(tokens []token, b []byte, position uint16) ([]token, uint16) {
	distance := uint16(1)
	for i := 0; i < len(b); {
		c := uint32(b[i])
		i++
		if c >= twoBytes {
			c, i = longCode(c, b, i)
		}
		switch c {
		case sameCode:
			distance = 0
		case jumpCode:
			d := uint32(b[i])
			i++
			if d >= twoBytes {
				d, i = longCode(d, b, i)
			}
			distance = uint16(d) //nolint:gosec // positions are below 1<<14
		default:
			position += distance
			distance = 1
			tokens = append(tokens, token{c - termCode, position})
		}
	}
	return tokens, position
}

// marks gives some terms of a segment a number above 0.
type marks []uint16

// appendHits appends the occurrences of the marked terms in a passage, whose
// words are one less than their marks.
func (s *segment) appendHits(hits []rank.Hit, passage uint32, m marks) []rank.Hit {
	b := s.forward[s.forwardAt[passage]:s.forwardAt[passage+1]]
	from, position := len(hits), uint16(0)
	if len(b) > 0 && b[0] == titleCode {
		hits, position = scan(hits, s.title(s.documentOf[passage]), position, m)
		b = b[1:]
	}
	hits, _ = scan(hits, b, position, m)
	// Terms at the same position are in no order of words.
	for i := from + 1; i < len(hits); i++ {
		for j := i; j > from && hits[j].Position == hits[j-1].Position && hits[j].Word < hits[j-1].Word; j-- {
			hits[j], hits[j-1] = hits[j-1], hits[j]
		}
	}
	return hits
}

// scan is decode for marked terms alone.
func scan(hits []rank.Hit, b []byte, position uint16, m marks) ([]rank.Hit, uint16) {
	distance := uint16(1)
	for i := 0; i < len(b); {
		c := uint32(b[i])
		i++
		if c >= twoBytes {
			c, i = longCode(c, b, i)
		}
		if c >= termCode {
			position += distance
			distance = 1
			if w := m[c-termCode]; w != 0 {
				hits = append(hits, rank.Hit{Word: w - 1, Position: position})
			}
			continue
		}
		if c == sameCode {
			distance = 0
			continue
		}
		d := uint32(b[i])
		i++
		if d >= twoBytes {
			d, i = longCode(d, b, i)
		}
		distance = uint16(d) //nolint:gosec // positions are below 1<<14
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
