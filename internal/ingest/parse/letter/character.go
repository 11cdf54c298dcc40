package letter

import (
	"math"
	"strings"
	"unicode"
)

// The alphabets, in the order of the tables.
const (
	latin = iota
	cyrillic
	greek
	hebrew
	arabic
	thai
	devanagari
)

// alphabetOf returns the alphabet of a small letter, or -1.
func alphabetOf(r rune) int {
	switch {
	case r < 0x80:
		if 'a' <= r && r <= 'z' {
			return latin
		}
	case r < 0x250:
		if unicode.IsLetter(r) {
			return latin
		}
	case 0x390 <= r && r <= 0x3CE:
		return greek
	case 0x430 <= r && r <= 0x4FF:
		return cyrillic
	case 0x5B0 <= r && r <= 0x5F2:
		return hebrew
	case 0x621 <= r && r <= 0x6D2:
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			return arabic
		}
	case 0x901 <= r && r <= 0x963:
		return devanagari
	case 0xE01 <= r && r <= 0xE4E && r != 0xE3F:
		return thai
	case extendedLow <= r && r <= extendedHigh:
		return latin
	}
	return -1
}

// symbolKind returns the kind of a character that is in no alphabet.
func symbolKind(c rune) kind {
	switch {
	case 0xFF10 <= c && c <= 0xFF5A:
		return wide
	case c == '’' || c == '‘' || c == '–' || c == '—' || c == '\u00ad' || c == '‑' || c == '‐':
		return joining
	case strings.ContainsRune("“„«»‹›¿¡§‚", c):
		return opening
	case strings.ContainsRune("”…™®©°ªº²³½\u00a0", c):
		return closing
	case 0x3005 <= c && c <= 0x3007, 0x3040 <= c && c <= 0x30FF, 0x3400 <= c && c <= 0x9FFF, 0xAC00 <= c && c <= 0xD7A3:
		return ideographic
	case unicode.IsLetter(c), unicode.IsMark(c):
		return ideographic
	case unicode.IsSpace(c):
		return blank
	}
	return symbol
}

// symbolCost returns the cost of a character that is in no alphabet. The cost of an East Asian character is added to
// ideographs instead.
func (r *Scorer) symbolCost(c rune, ideographs *[4]int) int {
	switch {
	case c == unicode.ReplacementChar:
		return costInvalid
	case c < 0xA0:
		return costControl
	case c < 0x250:
		if strings.ContainsRune("\u00a0\u00ad§©«®°±·»½×¿¡µ", c) {
			return costCommon
		}
		return costSymbol
	case 0x2010 <= c && c <= 0x203A && c != '‡' && c != '‰', c == '№', c == '™':
		return costCommon
	case c == '€':
		return costInWord
	case strings.ContainsRune("　、。「」『』【】・ー〜，．：；？！（）～", c):
		return costIdeography
	case 0x3000 <= c && c <= 0x303F, 0xFF01 <= c && c <= 0xFF60:
		return 2 * costIdeography
	case 0xFF61 <= c && c <= 0xFF9F:
		return costHalfWidth
	case 0x3040 <= c && c <= 0x30FF, 0x3400 <= c && c <= 0x9FFF, 0xAC00 <= c && c <= 0xD7A3:
		r.addIdeograph(c, ideographs)
		return 0
	case unicode.Is(unicode.Co, c), !unicode.IsGraphic(c):
		return costControl
	case unicode.IsLetter(c):
		return costUnknown
	}
	return costSymbol
}

// addIdeograph adds the cost of a character to each language of Scorer.ranks. By Zipf's law, the probability of a
// character falls with its rank.
func (r *Scorer) addIdeograph(c rune, sums *[4]int) {
	for i := range sums {
		if rank, found := r.ranks[i][c]; found {
			sums[i] += int(unit * math.Log(10*float64(rank+10)))
			continue
		}
		switch {
		case c < 0x3100 && i != japanese, c >= 0xAC00 && i != korean, c < 0xAC00 && i == korean:
			sums[i] += costUnknown
		default:
			sums[i] += 23 * unit / 2
		}
	}
}
