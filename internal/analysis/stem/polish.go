package stem

// polish is a light stemmer in the manner of those of J. Savoy (Light Stemming
// Approaches for the French, Portuguese, German and Hungarian Languages, SAC 2006).
// It cuts the ending of case or person and the suffix of verbs and verbal nouns,
// and unifies consonants that change before an ending.
func polish(word string) string {
	w := fold(word)
	w = cut(w, 3, "a e i o u y ie ia iu io ii iem em om iom ow iow ami iami ach iach owi iowi owie ego iego emu iemu ej iej ym im ych ich ymi imi "+
		"aja asz acie wnicy=wnik")
	w = cut(w, 4, "owan owac owal uj ujac ac ec ic yc acj acyjn an en ien ion czon=cz em ow eni ani")
	w = cut(w, 3, "i")
	w = cut(w, 2, "cj=c lj=l nj=n rj=r sj=s zj=z rz=r dz=d nc=nt kc=kt")
	w = withoutFleeting(cut(w, 2, "iek=ek iel=el ien=en iec=ec"), 'e', "aeiouy", "klnc")
	return cut(w, 0, "bled=blad rzed=rzad")
}
