package resident

// A builder keeps terms as bytes until it knows which are common: the same
// marks as in forward.go, and numbers in the order in which terms came.

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

// appendDecoded appends the tokens that were coded from the one after position on.
func appendDecoded(tokens []token, b []byte, position uint16) []token {
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
	return tokens
}
