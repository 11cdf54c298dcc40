package analysis

import (
	"strings"
	"unicode/utf8"
)

// stemDutchWord implements the Dutch stemmer by Porter published with Snowball (snowballstem.org, algorithm "dutch" up to
// version 2, "dutch_porter" since).
func stemDutchWord(word string) string {
	w := suffixWord{text: markDutch(word), vowels: dutchVowels}
	w.first = w.region(0)
	w.second = w.region(w.first)
	// R1 begins after three letters at least.
	third := 0
	for range 3 {
		_, size := utf8.DecodeRuneInString(w.text[third:])
		third += size
	}
	w.first = max(w.first, third)
	w.dutchEndings()
	return strings.NewReplacer("I", "i", "Y", "y").Replace(w.text)
}

const dutchVowels = "aeiouyè"

// markDutch removes diacritics, and makes capitals of i and y where they are consonants.
func markDutch(word string) string {
	r := []rune(strings.NewReplacer("ä", "a", "ë", "e", "ï", "i", "ö", "o", "ü", "u", "á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u").Replace(word))
	vowel := func(c rune) bool { return strings.ContainsRune(dutchVowels, c) }
	if r[0] == 'y' {
		r[0] = 'Y'
	}
	for i := 1; i < len(r); i++ {
		switch {
		case !vowel(r[i-1]):
		case r[i] == 'i' && i+1 < len(r) && vowel(r[i+1]):
			r[i] = 'I'
		case r[i] == 'y':
			r[i] = 'Y'
		}
	}
	return string(r)
}

func (w *suffixWord) dutchEndings() {
	switch suffix := w.longest("heden en ene s se", 0); suffix {
	case "heden":
		w.cut(suffix, w.first, "heid")
	case "en", "ene":
		w.dutchEn(suffix)
	case "s", "se":
		if c := w.before(len(suffix)); c != 0 && c != 'j' && !w.isVowel(c) {
			w.cut(suffix, w.first, "")
		}
	}
	droppedE := w.dutchE()
	if strings.HasSuffix(w.text, "heid") && w.before(4) != 'c' && w.drop("heid", w.second) && strings.HasSuffix(w.text, "en") {
		w.dutchEn("en")
	}
	switch suffix := w.longest("end ing ig lijk baar bar", 0); suffix {
	case "end", "ing":
		if !w.cut(suffix, w.second, "") {
			break
		}
		if !strings.HasSuffix(w.text, "ig") || w.before(2) == 'e' || !w.drop("ig", w.second) {
			w.undouble()
		}
	case "ig":
		if w.before(2) != 'e' {
			w.cut(suffix, w.second, "")
		}
	case "lijk":
		if w.cut(suffix, w.second, "") {
			w.dutchE()
		}
	case "baar":
		w.cut(suffix, w.second, "")
	case "bar":
		if droppedE {
			w.cut(suffix, w.second, "")
		}
	}
	w.dutchDoubleVowel()
}

// dutchEn removes en or ene after a consonant, not after gem.
func (w *suffixWord) dutchEn(suffix string) {
	c := w.before(len(suffix))
	if c == 0 || w.isVowel(c) || strings.HasSuffix(w.text[:len(w.text)-len(suffix)], "gem") {
		return
	}
	if w.cut(suffix, w.first, "") {
		w.undouble()
	}
}

// dutchE removes an e after a consonant and tells whether it did.
func (w *suffixWord) dutchE() bool {
	if c := w.before(1); !strings.HasSuffix(w.text, "e") || c == 0 || w.isVowel(c) || !w.drop("e", w.first) {
		return false
	}
	w.undouble()
	return true
}

func (w *suffixWord) undouble() {
	if w.longest("kk dd tt", 0) != "" {
		w.text = w.text[:len(w.text)-1]
	}
}

// dutchDoubleVowel makes maan of maan's plural manen the same: man.
func (w *suffixWord) dutchDoubleVowel() {
	last := w.before(0)
	if last == 0 || last == 'I' || w.isVowel(last) {
		return
	}
	rest := suffixWord{text: w.text[:len(w.text)-utf8.RuneLen(last)], vowels: w.vowels}
	if rest.longest("aa ee oo uu", 0) == "" {
		return
	}
	if c := rest.before(2); c != 0 && !w.isVowel(c) {
		w.text = rest.text[:len(rest.text)-1] + string(last)
	}
}
