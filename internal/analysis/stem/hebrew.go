package stem

import (
	"strings"
	"unicode"
)

// hebrew drops vowel points, replaces final letters by their common form, and cuts
// the endings of plural and feminine and the prefixes for and, the, in and to. The
// prefixes for from, that and when are cut only together with the article or as
// kaf shin: most words that begin with one of their letters have no prefix.
func hebrew(word string) string {
	w := strings.Map(func(r rune) rune {
		switch r {
		case 'ך':
			return 'כ'
		case 'ם':
			return 'מ'
		case 'ן':
			return 'נ'
		case 'ף':
			return 'פ'
		case 'ץ':
			return 'צ'
		}
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, word)
	w = cut(cut(w, 3, "ימ יימ"), 3, "ות ה ת יות ית")
	for {
		start := 0
		for prefix := range strings.FieldsSeq("ו ה ב ל שה מה כש") {
			if strings.HasPrefix(w, prefix) && length(w)-length(prefix) >= 3 {
				start = max(start, len(prefix))
			}
		}
		if start == 0 {
			return w
		}
		w = w[start:]
	}
}
