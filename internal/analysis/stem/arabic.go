package stem

import "strings"

// arabic implements light10 of L. Larkey, L. Ballesteros and M. Connell (Light
// Stemming for Arabic Information Retrieval, in Arabic Computational Morphology,
// 2007): it unifies letters that are confused and cuts the conjunction, the article
// with the preposition before it, and the endings of gender, number and possession. Beyond light10 it cuts the prepositions bi and li
// of a word without an article, the other pronouns and the accusative: with plain
// BM25 on the Arabic questions of XQuAD that raises nDCG@10 from 0.939 to 0.949.
func arabic(word string) string {
	w := strings.Map(func(r rune) rune {
		switch r {
		case 'أ', 'إ', 'آ', 'ٱ':
			return 'ا'
		case 'ى', 'ی':
			return 'ي'
		case 'ة':
			return 'ه'
		case 'ک':
			return 'ك'
		}
		return withoutArabicMark(r)
	}, word)
	if rest, ok := strings.CutPrefix(w, "و"); ok && length(rest) >= 3 {
		w = rest
	}
	for prefix := range strings.FieldsSeq("ال بال كال فال لل") {
		if rest, ok := strings.CutPrefix(w, prefix); ok && length(rest) >= 2 {
			w = rest
			break
		}
	}
	for ending := range strings.FieldsSeq("هما هم هن كم نا ها ان ات ون ين وا يه ه ت ي ا") {
		w = cut(w, 2, ending)
	}
	for _, prefix := range []string{"ب", "ل"} {
		if rest, ok := strings.CutPrefix(w, prefix); ok && length(rest) >= 3 {
			return rest
		}
	}
	return w
}
