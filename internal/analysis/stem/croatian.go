package stem

import "strings"

// croatian is a light stemmer of Croatian, Bosnian and Serbian in the manner of N.
// Ljubešić, D. Boras and O. Kubelka (Retrieving Information in Croatian: Building a
// Simple and Efficient Rule-based Stemmer, INFuture 2007). It writes Cyrillic words
// in Latin letters first, so that Serbian text matches in both scripts.
func croatian(word string) string {
	w := fold(latin(word))
	w = cut(w, 3, "ovima evima ovi ove ova evi eve eva ima ama om em og oga omu ome eg ega emu im ih oj a e i o u ija ije iji iju ijom ijama")
	w = cut(w, 4, "iranj iran irat iraj irajt ir iral acij ac ovanj ovan ovat uj ujt avanj avan avat avaj avajt anj enj an en at it aj ajt jen ljen am em om")
	w = cut(w, 3, "j c=k")
	return withoutFleeting(cut(w, 3, "vlj=v blj=b plj=p mlj=m vl=v bl=b pl=p ml=m nat=nt"), 'a', "aeiou", "kr")
}

// latin returns a Cyrillic word of Serbian in the letters of the Serbian Latin
// alphabet, without their diacritics.
func latin(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return serbianLatin(r) != "" }) {
		return word
	}
	var b strings.Builder
	for _, r := range word {
		if letters := serbianLatin(r); letters != "" {
			b.WriteString(letters)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// serbianLatin returns the Latin letters of a letter of Serbian Cyrillic, and "" for
// any other character.
func serbianLatin(r rune) string {
	switch r {
	case 'љ':
		return "lj"
	case 'њ':
		return "nj"
	case 'џ':
		return "dz"
	case 'ђ':
		return "d"
	case 'ћ':
		return "c"
	case 'ј':
		return "j"
	}
	const letters = "abvgdezzi_klmnoprstufhccs" // of а to ш, in the order of Unicode
	if at := r - 'а'; at >= 0 && int(at) < len(letters) && letters[at] != '_' {
		return letters[at : at+1]
	}
	return ""
}
