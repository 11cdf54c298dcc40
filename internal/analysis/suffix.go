package analysis

import (
	"strings"
	"unicode/utf8"
)

// suffixWord is a word that loses its endings, with the starts of its regions in bytes: R1 and R2, and RV where the
// language has it (snowballstem.org, "Defining R1 and R2", "RV").
type suffixWord struct {
	text               string
	vowels             string
	first, second, low int
}

func (w *suffixWord) isVowel(r rune) bool { return strings.ContainsRune(w.vowels, r) }

// region returns the byte offset after the first consonant that follows a vowel at or after from.
func (w *suffixWord) region(from int) int {
	vowel := false
	for i, r := range w.text[from:] {
		isVowel := w.isVowel(r)
		if vowel && !isVowel {
			return from + i + utf8.RuneLen(r)
		}
		vowel = isVowel
	}
	return len(w.text)
}

// romanceRegions sets the regions as the Italian, Portuguese and Spanish stemmers have them.
func (w *suffixWord) romanceRegions() {
	w.first = w.region(0)
	w.second = w.region(w.first)
	w.low = len(w.text)
	one, size := utf8.DecodeRuneInString(w.text)
	two, more := utf8.DecodeRuneInString(w.text[size:])
	after := func(from int, vowel bool) {
		for i, r := range w.text[from:] {
			if w.isVowel(r) == vowel {
				w.low = from + i + utf8.RuneLen(r)
				return
			}
		}
	}
	switch {
	case !w.isVowel(two):
		after(size+more, true)
	case w.isVowel(one):
		after(size+more, false)
	default:
		if _, third := utf8.DecodeRuneInString(w.text[size+more:]); third > 0 {
			w.low = size + more + third
		}
	}
}

// longest returns the longest of the suffixes, given between blanks, that the word has at or after from; "" when there is none.
func (w *suffixWord) longest(suffixes string, from int) string {
	best := ""
	for suffix := range strings.FieldsSeq(suffixes) {
		if len(suffix) > len(best) && len(w.text)-len(suffix) >= from && strings.HasSuffix(w.text, suffix) {
			best = suffix
		}
	}
	return best
}

// cut replaces the suffix when it stands at or after from, and tells whether it does.
func (w *suffixWord) cut(suffix string, from int, replacement string) bool {
	at := len(w.text) - len(suffix)
	if at < from {
		return false
	}
	w.text = w.text[:at] + replacement
	return true
}

// drop removes the suffix when the word has it at or after from, and tells whether it does.
func (w *suffixWord) drop(suffix string, from int) bool {
	return strings.HasSuffix(w.text, suffix) && w.cut(suffix, from, "")
}

// before returns the rune before the last n bytes, 0 where there is none.
func (w *suffixWord) before(n int) rune {
	if n >= len(w.text) {
		return 0
	}
	r, _ := utf8.DecodeLastRuneInString(w.text[:len(w.text)-n])
	return r
}
