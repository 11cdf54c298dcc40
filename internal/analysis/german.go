package analysis

import "strings"

// stemGermanWord implements the German stemmer published with Snowball (snowballstem.org, algorithm "german").
func stemGermanWord(word string) string {
	w := germanWord{r: []rune(strings.ReplaceAll(word, "ß", "ss"))}
	for i := 1; i+1 < len(w.r); i++ {
		// Between vowels u and y are consonants: capitals mark that.
		if (w.r[i] == 'u' || w.r[i] == 'y') && isGermanVowel(w.r[i-1]) && isGermanVowel(w.r[i+1]) {
			w.r[i] -= 'a' - 'A'
		}
	}
	w.first = max(w.region(0), 3)
	w.second = w.region(w.region(0))
	w.stepOne()
	w.stepTwo()
	w.stepThree()
	for i, r := range w.r {
		switch r {
		case 'U', 'ü':
			w.r[i] = 'u'
		case 'Y':
			w.r[i] = 'y'
		case 'ä':
			w.r[i] = 'a'
		case 'ö':
			w.r[i] = 'o'
		}
	}
	return string(w.r)
}

// germanWord is a word with the starts of its regions R1 and R2.
type germanWord struct {
	r             []rune
	first, second int
}

func isGermanVowel(r rune) bool { return strings.ContainsRune("aeiouyäöü", r) }

// region returns the index after the first consonant that follows a vowel at or after from.
func (w *germanWord) region(from int) int {
	for i := from + 1; i < len(w.r); i++ {
		if !isGermanVowel(w.r[i]) && isGermanVowel(w.r[i-1]) {
			return i + 1
		}
	}
	return len(w.r)
}

func (w *germanWord) ends(suffix string) bool {
	s := []rune(suffix)
	if len(s) > len(w.r) {
		return false
	}
	return string(w.r[len(w.r)-len(s):]) == suffix
}

// longest returns the longest of the suffixes, given longest first, that the word has.
func (w *germanWord) longest(suffixes ...string) string {
	for _, suffix := range suffixes {
		if w.ends(suffix) {
			return suffix
		}
	}
	return ""
}

func (w *germanWord) drop(n int) { w.r = w.r[:len(w.r)-n] }

// before returns the rune n places from the end, 0 where there is none.
func (w *germanWord) before(n int) rune {
	if n >= len(w.r) {
		return 0
	}
	return w.r[len(w.r)-1-n]
}

func (w *germanWord) stepOne() {
	suffix := w.longest("ern", "em", "er", "en", "es", "e", "s")
	if suffix == "" || len(w.r)-len(suffix) < w.first {
		return
	}
	switch suffix {
	case "s":
		if strings.ContainsRune("bdfghklmnrt", w.before(1)) {
			w.drop(1)
		}
	case "e", "en", "es":
		w.drop(len(suffix))
		if w.ends("niss") {
			w.drop(1)
		}
	default:
		w.drop(len(suffix))
	}
}

func (w *germanWord) stepTwo() {
	suffix := w.longest("est", "en", "er", "st")
	if suffix == "" || len(w.r)-len(suffix) < w.first {
		return
	}
	if suffix == "st" && (len(w.r) < 6 || !strings.ContainsRune("bdfghklmnt", w.before(2))) {
		return
	}
	w.drop(len(suffix))
}

func (w *germanWord) stepThree() {
	suffix := w.longest("isch", "lich", "heit", "keit", "end", "ung", "ig", "ik")
	if suffix == "" || len(w.r)-len(suffix) < w.second {
		return
	}
	preceding := w.before(len(suffix))
	switch suffix {
	case "end", "ung":
		w.drop(len(suffix))
		if w.ends("ig") && len(w.r)-2 >= w.second && w.before(2) != 'e' {
			w.drop(2)
		}
	case "ig", "ik", "isch":
		if preceding != 'e' {
			w.drop(len(suffix))
		}
	case "lich", "heit":
		w.drop(len(suffix))
		if (w.ends("er") || w.ends("en")) && len(w.r)-2 >= w.first {
			w.drop(2)
		}
	case "keit":
		w.drop(len(suffix))
		if inner := w.longest("lich", "ig"); inner != "" && len(w.r)-len(inner) >= w.second {
			w.drop(len(inner))
		}
	}
}
