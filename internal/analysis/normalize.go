package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTermRunes bounds a term. Longer words (encoded data) are cut there, in documents and queries alike.
const maxTermRunes = 64

// term returns the term of a piece whose source is raw; "" when nothing is left of it.
func (a *Analyzer) term(p piece, raw string, stem stemmer) string {
	if p.exact {
		stem = stemNone
	}
	if stem == stemNone && isLowerASCII(raw) {
		if len(raw) > maxTermRunes {
			return raw[:maxTermRunes]
		}
		return raw
	}
	if stem == stemNone && isSettled(raw) {
		return raw
	}
	return a.terms.lookup(raw, uint8(stem), func(raw string) string { return normalize(raw, stem) })
}

// isSettled reports whether a text is of Han, kana and Hangul that are their own normal form, and short.
func isSettled(raw string) bool {
	if len(raw) > maxTermRunes {
		return false
	}
	for _, r := range raw {
		if !isCommonPair(r) {
			return false
		}
	}
	return true
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if b := s[i]; b >= utf8.RuneSelf || 'A' <= b && b <= 'Z' {
			return false
		}
	}
	return true
}

// normalize does the whole work of term, without the cache.
func normalize(raw string, stem stemmer) string {
	word := strings.ToLower(raw)
	ascii := isLowerASCII(word)
	if !ascii {
		word = strings.ToLower(norm.NFKC.String(strings.Map(visible, word)))
	}
	word = cut(word)
	if stem != stemNone {
		word = stem.apply(word)
	}
	if !ascii && !stem.keepsMarks() {
		word = cut(fold(word))
	}
	return word
}

func cut(word string) string {
	if len(word) <= maxTermRunes {
		return word
	}
	count := 0
	for i := range word {
		if count == maxTermRunes {
			return word[:i]
		}
		count++
	}
	return word
}

// visible drops invisible characters, which would hide a word's ending from its stemmer.
func visible(r rune) rune {
	if r >= 0x00AD && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == tatweel) {
		return -1
	}
	return r
}

// tatweel stretches Arabic words.
const tatweel = 0x0640

// fold removes what people leave out when they type: diacritics of Latin, Greek and Cyrillic letters, vowel points of
// Arabic and Hebrew. Marks of other scripts carry meaning and stay. Digits become those of ASCII.
func fold(word string) string {
	var b strings.Builder
	b.Grow(len(word))
	folding := false // whether a mark that comes now belongs to a letter that is folded
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			folding = true
			b.WriteRune(r)
		case isApostrophe(r):
			b.WriteByte('\'')
		case r == 0x2010 || r == 0x2011:
			b.WriteByte('-')
		case unicode.In(r, unicode.Mn, unicode.Me):
			if !folding {
				b.WriteRune(r)
			}
		case unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic):
			folding = true
			foldLetter(&b, r)
		case unicode.IsDigit(r):
			folding = true
			b.WriteByte(digit(r))
		default:
			folding = unicode.In(r, unicode.Arabic, unicode.Hebrew)
			b.WriteRune(foldArabic(r))
		}
	}
	return b.String()
}

// digit returns the ASCII digit of the same value; the ten digits of a script stand in a row.
func digit(r rune) byte {
	value := byte(0)
	for value < 9 && unicode.IsDigit(r-1) {
		value++
		r--
	}
	return '0' + value
}

// foldArabic unifies letters that are written for one another: alef with and without hamza, final yeh and Persian yeh,
// teh marbuta and heh, Persian kaf (as Lucene's normalizers for Arabic and Persian do).
func foldArabic(r rune) rune {
	switch r {
	case 0x0622, 0x0623, 0x0625, 0x0671:
		return 0x0627
	case 0x0649, 0x06CC:
		return 0x064A
	case 0x0629:
		return 0x0647
	case 0x06A9:
		return 0x0643
	}
	return r
}

func foldLetter(b *strings.Builder, r rune) {
	switch r {
	case 'ß':
		b.WriteString("ss")
		return
	case 'æ':
		b.WriteString("ae")
		return
	case 'œ':
		b.WriteString("oe")
		return
	case 'ø':
		r = 'o'
	case 'đ', 'ð':
		r = 'd'
	case 'ł':
		r = 'l'
	case 'ı':
		r = 'i'
	case 'þ':
		b.WriteString("th")
		return
	case 'ς':
		r = 'σ'
	}
	var buffer [utf8.UTFMax]byte
	decomposed := norm.NFD.Properties(buffer[:utf8.EncodeRune(buffer[:], r)]).Decomposition()
	if len(decomposed) == 0 {
		b.WriteRune(r)
		return
	}
	// NFD.Properties gives the full canonical decomposition: the base letter comes first, marks follow.
	base, _ := utf8.DecodeRune(decomposed)
	b.WriteRune(base)
}
