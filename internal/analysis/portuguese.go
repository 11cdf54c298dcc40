package analysis

import "strings"

// stemPortugueseWord implements the Portuguese stemmer published with Snowball (snowballstem.org, algorithm "portuguese").
func stemPortugueseWord(word string) string {
	w := suffixWord{text: strings.NewReplacer("ã", "a~", "õ", "o~").Replace(word), vowels: "aeiouáéíóúâêô"}
	w.romanceRegions()
	changed := w.portugueseEnding()
	if !changed {
		if suffix := w.longest(portugueseVerbs, w.low); suffix != "" {
			changed = w.drop(suffix, w.low)
		}
	}
	if changed {
		if w.before(1) == 'c' {
			w.drop("i", w.low)
		}
	} else if suffix := w.longest("os a i o á í ó", 0); suffix != "" {
		w.drop(suffix, w.low)
	}
	switch suffix := w.longest("e é ê ç", 0); suffix {
	case "":
	case "ç":
		w.cut(suffix, 0, "c")
	default:
		if w.drop(suffix, w.low) {
			switch w.before(1) {
			case 'g':
				w.drop("u", w.low)
			case 'c':
				w.drop("i", w.low)
			}
		}
	}
	return strings.NewReplacer("a~", "ã", "o~", "õ").Replace(w.text)
}

const (
	portugueseEndings = "eza ezas ico ica icos icas ismo ismos ável ível ista istas oso osa osos osas amento amentos imento imentos " +
		"adora ador aça~o adoras adores aço~es ante antes ância logia logias uça~o uço~es ência ências amente mente idade idades " +
		"iva ivo ivas ivos ira iras"
	portugueseVerbs = "ada ida ia aria eria iria ará ara erá era irá ava asse esse isse aste este iste ei arei erei irei am iam " +
		"ariam eriam iriam aram eram iram avam em arem erem irem assem essem issem ado ido ando endo indo ara~o era~o ira~o ar er " +
		"ir as adas idas ias arias erias irias arás aras erás eras irás avas es ardes erdes irdes ares eres ires asses esses isses " +
		"astes estes istes is ais eis íeis aríeis eríeis iríeis áreis areis éreis ereis íreis ireis ásseis ésseis ísseis áveis ados " +
		"idos ámos amos íamos aríamos eríamos iríamos áramos éramos íramos ávamos emos aremos eremos iremos ássemos êssemos íssemos " +
		"imos armos ermos irmos eu iu ou ira iras"
)

// portugueseEnding removes the endings of nouns, adjectives and adverbs.
func (w *suffixWord) portugueseEnding() bool {
	suffix := w.longest(portugueseEndings, 0)
	switch suffix {
	case "":
		return false
	case "logia", "logias":
		return w.cut(suffix, w.second, "log")
	case "uça~o", "uço~es":
		return w.cut(suffix, w.second, "u")
	case "ência", "ências":
		return w.cut(suffix, w.second, "ente")
	case "amente":
		if !w.cut(suffix, w.first, "") {
			return false
		}
		if inner := w.longest("iv os ic ad", 0); inner != "" && w.drop(inner, w.second) && inner == "iv" {
			w.drop("at", w.second)
		}
		return true
	case "mente":
		if !w.cut(suffix, w.second, "") {
			return false
		}
		w.drop(w.longest("ante avel ível", 0), w.second)
		return true
	case "idade", "idades":
		if !w.cut(suffix, w.second, "") {
			return false
		}
		w.drop(w.longest("abil ic iv", 0), w.second)
		return true
	case "iva", "ivo", "ivas", "ivos":
		if !w.cut(suffix, w.second, "") {
			return false
		}
		w.drop("at", w.second)
		return true
	case "ira", "iras":
		return w.before(len(suffix)) == 'e' && w.cut(suffix, w.low, "ir")
	}
	return w.cut(suffix, w.second, "")
}
