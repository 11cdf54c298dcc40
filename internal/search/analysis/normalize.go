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
	return a.cache.lookup(raw, stem)
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
		word = strings.ToLower(norm.NFKC.String(word))
	}
	word = cut(word)
	if stem != stemNone {
		word = stem.apply(word)
	}
	if !ascii {
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

// fold removes what people leave out when they type: diacritics of Latin, Greek and Cyrillic letters, vowel points of
// Arabic and Hebrew, invisible characters. Marks of other scripts carry meaning and stay.
func fold(word string) string {
	var b strings.Builder
	b.Grow(len(word))
	folding := false // whether a mark that comes now belongs to a letter that is folded
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf:
			folding = true
			b.WriteRune(r)
		case r == 0x2019:
			b.WriteByte('\'')
		case r == 0x2010 || r == 0x2011:
			b.WriteByte('-')
		case r == 0x00AD || r == 0x200C || r == 0x200D || unicode.Is(unicode.Variation_Selector, r) || r == 0x0640:
		case unicode.Is(unicode.Mn, r):
			if !folding {
				b.WriteRune(r)
			}
		case unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic):
			folding = true
			foldLetter(&b, r)
		default:
			folding = unicode.In(r, unicode.Arabic, unicode.Hebrew)
			b.WriteRune(r)
		}
	}
	return b.String()
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
