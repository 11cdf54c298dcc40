package stem

import "strings"

// urdu writes letters of Arabic keyboards as Urdu ones and cuts the endings of
// gender, number and case. The grammar is that of Hindi.
func urdu(word string) string {
	w := strings.Map(func(r rune) rune {
		switch r {
		case 'ي', 'ى':
			return 'ی'
		case 'ك':
			return 'ک'
		case 'ه', 'ة', 'ۃ', 'ۂ':
			return 'ہ'
		case 'أ', 'إ', 'آ', 'ٱ':
			return 'ا'
		case joiner, nonJoiner:
			return -1
		}
		return withoutArabicMark(r)
	}, word)
	return cut(w, 2, "یوں یاں ئوں ؤں وں ئیں یں ے ی ا ہ ئے ئی")
}
