package stem

import "strings"

// persian writes letters of Arabic keyboards as Persian ones and cuts plurals,
// comparatives and pronouns at the end of a word, and of verbs the prefix of the
// present and the person, following L. Dolamic and J. Savoy (Persian Language, Is
// Stemming Efficient?, DEXA 2009). Plural and prefix may also be written as separate
// words, which are in the list of package stopword.
func persian(word string) string {
	w := strings.Map(func(r rune) rune {
		switch r {
		case 'ي', 'ى', 'ئ':
			return 'ی'
		case 'ك':
			return 'ک'
		case 'ة', 'ۀ':
			return 'ه'
		case 'أ', 'إ', 'آ', 'ٱ':
			return 'ا'
		case 'ؤ':
			return 'و'
		case joiner, nonJoiner:
			return -1
		}
		return withoutArabicMark(r)
	}, word)
	for prefix := range strings.FieldsSeq("نمی می") {
		if verb, ok := strings.CutPrefix(w, prefix); ok && length(verb) >= 2 {
			return cut(verb, 2, "ند=د ید=د یم=د م=د ی=د")
		}
	}
	w = cut(w, 2, "ها های هایی هایم هایت هایش هایمان هایتان هایشان")
	w = cut(w, 3, "ترین تر شان مان تان ان ات ای یی ام اش")
	return cut(w, 3, "ی ه")
}

// The characters that control whether the letters around them join.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// withoutArabicMark returns r, and -1 for a vowel point and for the character that
// stretches a word.
func withoutArabicMark(r rune) rune {
	if r == 'ـ' || 'ً' <= r && r <= 'ْ' || r == 'ٰ' {
		return -1
	}
	return r
}
