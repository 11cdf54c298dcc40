package spelling

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// script is an alphabet whose words are corrected.
type script uint8

const (
	noScript script = iota
	latin
	cyrillic
	greek
	arabic
	hebrew
	devanagari
)

// scriptOf returns the script of a word of letters; noScript for a word with other
// characters, with letters of several scripts, or of a script whose words are not
// corrected.
func scriptOf(word string) script {
	found := noScript
	for _, r := range word {
		s := scriptOfLetter(r)
		if s == noScript || found != noScript && s != found {
			return noScript
		}
		found = s
	}
	return found
}

func scriptOfLetter(r rune) script {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return latin
		}
		return noScript
	case r < 0x0370 || 0x1E00 <= r && r <= 0x1EFF:
		if unicode.Is(unicode.Latin, r) {
			return latin
		}
	case r < 0x0400:
		if unicode.Is(unicode.Greek, r) {
			return greek
		}
	case r < 0x0530:
		if unicode.Is(unicode.Cyrillic, r) {
			return cyrillic
		}
	case 0x05D0 <= r && r <= 0x05EA:
		return hebrew
	case 0x0620 <= r && r <= 0x06D3:
		if unicode.IsLetter(r) {
			return arabic
		}
	case 0x0900 <= r && r <= 0x0963:
		return devanagari
	}
	return noScript
}

// lengths returns the lengths in letters from which one and two errors are corrected.
// Arabic and Hebrew write few vowels, so that their words are short and near to each
// other. Devanagari writes a vowel after a consonant as a sign of its own.
func (s script) lengths() (one, two int) {
	switch s {
	case arabic, hebrew:
		return 6, 12
	case devanagari:
		return 5, 10
	case noScript, latin, cyrillic, greek:
	}
	return 4, 8
}

// Errors returns the number of errors, 0 to 2, that are corrected in a word. ok is
// false for a word that is not corrected: one with digits or signs, or of a script
// without spaces between words.
func Errors(word string) (errors int, ok bool) {
	s := scriptOf(word)
	if s == noScript {
		return 0, false
	}
	one, two := s.lengths()
	switch n := utf8.RuneCountInString(word); {
	case n >= two:
		return 2, true
	case n >= one:
		return 1, true
	}
	return 0, true
}

// Unmark returns a word in lower case without the diacritics of its Latin letters.
// Terms of Vietnamese have them, because they are tones.
func Unmark(word string) string {
	out := make([]rune, 0, len(word))
	for _, r := range word {
		out = append(out, unmark(unicode.ToLower(r)))
	}
	return string(out)
}

// unmark returns the base of a Latin letter.
func unmark(r rune) rune {
	switch {
	case r < 0x00C0:
		return r
	case r < 0x0250:
		return bases()[r-0x00C0]
	case 0x1E00 <= r && r <= 0x1EFF:
		return bases()[0x0250-0x00C0+r-0x1E00]
	}
	return r
}

// bases returns the base letters of U+00C0 to U+024F, then of U+1E00 to U+1EFF.
var bases = sync.OnceValue(func() []rune {
	var all []rune
	add := func(from, to rune) {
		for r := from; r <= to; r++ {
			base := r
			switch r {
			case 'đ':
				base = 'd'
			case 'ø':
				base = 'o'
			case 'ł':
				base = 'l'
			default:
				if d := norm.NFD.PropertiesString(string(r)).Decomposition(); len(d) > 0 {
					base, _ = utf8.DecodeRune(d)
				}
			}
			all = append(all, base)
		}
	}
	add(0x00C0, 0x024F)
	add(0x1E00, 0x1EFF)
	return all
})
