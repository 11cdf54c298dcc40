package analysis

import "strings"

// stemItalianWord implements the Italian stemmer published with Snowball (snowballstem.org, algorithm "italian").
func stemItalianWord(word string) string {
	w := suffixWord{text: markItalian(word), vowels: "aeiouàèìòù"}
	w.romanceRegions()
	w.italianPronoun()
	if !w.italianEnding() {
		w.drop(w.longest(italianVerbs, w.low), w.low)
	}
	w.italianVowel()
	return strings.NewReplacer("I", "i", "U", "u").Replace(w.text)
}

const (
	italianPronouns = "ci gli la le li lo mi ne si ti vi sene gliela gliele glieli glielo gliene mela mele meli melo mene tela tele " +
		"teli telo tene cela cele celi celo cene vela vele veli velo vene"
	italianPlain = "anza anze ico ici ica ice iche ichi ismo ismi abile abili ibile ibili ista iste isti istà istè istì oso osi osa ose " +
		"mente atrice atrici ante anti"
	italianEndings = italianPlain + " azione azioni atore atori logia logie uzione uzioni usione usioni enza enze amento amenti " +
		"imento imenti amente ità ivo ivi iva ive"
	italianVerbs = "ammo ando ano are arono asse assero assi assimo ata ate ati ato ava avamo avano avate avi avo emmo enda ende " +
		"endi endo erà erai eranno ere erebbe erebbero erei eremmo eremo ereste eresti erete erò erono essero ete eva evamo evano " +
		"evate evi evo Yamo iamo immo irà irai iranno ire irebbe irebbero irei iremmo iremo ireste iresti irete irò irono isca " +
		"iscano isce isci isco iscono issero ita ite iti ito iva ivamo ivano ivate ivi ivo ono uta ute uti uto ar ir"
)

// markItalian makes acute accents grave, and capitals of u after q and of u and i between vowels, which are consonants.
func markItalian(word string) string {
	r := []rune(strings.NewReplacer("á", "à", "é", "è", "í", "ì", "ó", "ò", "ú", "ù", "qu", "qU").Replace(word))
	vowel := func(c rune) bool { return strings.ContainsRune("aeiouàèìòù", c) }
	for i := 1; i+1 < len(r); i++ {
		if (r[i] == 'u' || r[i] == 'i') && vowel(r[i-1]) && vowel(r[i+1]) {
			r[i] -= 'a' - 'A'
		}
	}
	return string(r)
}

func (w *suffixWord) italianPronoun() {
	pronoun := w.longest(italianPronouns, 0)
	if pronoun == "" {
		return
	}
	inner := suffixWord{text: w.text[:len(w.text)-len(pronoun)]}
	switch verb := inner.longest("ando endo ar er ir", 0); {
	case verb == "" || len(inner.text)-len(verb) < w.low:
	case len(verb) == 4:
		w.text = inner.text
	default:
		w.text = inner.text + "e" // as without the pronoun
	}
}

// italianEnding removes the endings of nouns, adjectives and adverbs.
func (w *suffixWord) italianEnding() bool {
	suffix := w.longest(italianEndings, 0)
	switch suffix {
	case "":
		return false
	case "azione", "azioni", "atore", "atori":
		return w.cut(suffix, w.second, "") && (w.drop("ic", w.second) || true)
	case "logia", "logie":
		return w.cut(suffix, w.second, "log")
	case "uzione", "uzioni", "usione", "usioni":
		return w.cut(suffix, w.second, "u")
	case "enza", "enze":
		return w.cut(suffix, w.second, "ente")
	case "amento", "amenti", "imento", "imenti":
		return w.cut(suffix, w.low, "")
	case "amente":
		if !w.cut(suffix, w.first, "") {
			return false
		}
		if inner := w.longest("iv os ic abil", 0); inner != "" && w.drop(inner, w.second) && inner == "iv" {
			w.drop("at", w.second)
		}
		return true
	case "ità":
		if !w.cut(suffix, w.second, "") {
			return false
		}
		w.drop(w.longest("abil ic iv", 0), w.second)
		return true
	case "ivo", "ivi", "iva", "ive":
		if !w.cut(suffix, w.second, "") {
			return false
		}
		if w.drop("at", w.second) {
			w.drop("ic", w.second)
		}
		return true
	}
	return w.cut(suffix, w.second, "")
}

func (w *suffixWord) italianVowel() {
	if last := w.longest("a e i o à è ì ò", 0); last != "" && w.drop(last, w.low) {
		w.drop("i", w.low)
	}
	if hard := w.longest("ch gh", w.low); hard != "" {
		w.text = w.text[:len(w.text)-1]
	}
}
