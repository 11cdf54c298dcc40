package resident

// A builder codes the terms of passages as varints until it knows which terms are
// common. The marks are those of forward.go, and terms are numbered in the order in
// which they were interned.

// appendTokens codes tokens, which are ordered by position. previous is the position
// before the first one.
func appendTokens(b []byte, tokens []token, previous uint16) []byte {
	for _, t := range tokens {
		switch d := t.position - previous; d {
		case 0:
			b = append(b, sameCode)
		case 1:
		default:
			b = appendVarint(append(b, jumpCode), uint32(d))
		}
		b = appendVarint(b, t.term+termCode)
		previous = t.position
	}
	return b
}

// decodeTokens appends the tokens coded in b. position is the position before the
// first one.
func decodeTokens(tokens []token, b []byte, position uint16) []token {
	distance := uint16(1)
	for i := 0; i < len(b); {
		c := uint32(b[i])
		i++
		if c >= twoBytes {
			c, i = longVarint(c, b, i)
		}
		switch c {
		case sameCode:
			distance = 0
		case jumpCode:
			d := uint32(b[i])
			i++
			if d >= twoBytes {
				d, i = longVarint(d, b, i)
			}
			distance = uint16(d) //nolint:gosec // positions are below 1<<14
		default:
			position += distance
			distance = 1
			tokens = append(tokens, token{c - termCode, position})
		}
	}
	return tokens
}
