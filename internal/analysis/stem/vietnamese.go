package stem

import "unicode/utf8"

// vietnamese chooses one of two spellings that are in use: it writes the tone
// on the second vowel of oa, oe and uy (hoà for hòa), and with i for a y that is the
// only vowel (kĩ for kỹ). Words have no endings to cut, and keep their tones.
func vietnamese(word string) string {
	w := cut(word, 0, "òa=oà óa=oá ỏa=oả õa=oã ọa=oạ òe=oè óe=oé ỏe=oẻ õe=oẽ ọe=oẹ ùy=uỳ úy=uý ủy=uỷ ũy=uỹ ụy=uỵ")
	_, size := utf8.DecodeLastRuneInString(w)
	switch w[:len(w)-size] {
	case "h", "k", "l", "m", "s", "t", "qu":
		return cut(w, 1, "y=i ỳ=ì ý=í ỷ=ỉ ỹ=ĩ ỵ=ị")
	}
	return w
}
