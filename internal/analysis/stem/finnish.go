package stem

// finnish is a light stemmer in the manner of the one that J. Savoy describes for
// the language (Report on CLEF-2003 Experiments): it cuts particles and possessive
// suffixes, the ending of case with the sign of the plural, and the last vowel,
// and makes long consonants short, by which strong and weak grades become one. It
// folds first, which makes the two forms that vowel harmony gives to an ending one.
func finnish(word string) string {
	w := cut(fold(word), 4, "kin kaan han")
	w = cut(w, 4, "nsa mme nne ni si aksesi aksensa")
	w = cut(w, 3, "n t a ta tta ssa sta lla lta lle ksi aan=a een=e iin=i oon=o uun=u yyn=y hin han hon hen hun hyn siin seen "+
		"jen ien iden den ten itten ja ia ita issa ista illa ilta ille iksi ina itta isin "+
		"oita=o oissa=o oista=o oilla=o oilta=o oille=o oihin=o oina=o ojen=o oiden=o eja=e ejen=e eita=e eissa=e eista=e eilla=e eille=e eihin=e "+
		"minen misen mista misesta miseen nen=s sten=s")
	w = cut(w, 3, "a e i o u y aa ee ii oo uu yy ie uo yo")
	w = cut(w, 3, "uud uut uus yyd yyt yys aj ej ij oj uj yj")
	return cut(w, 2, "ks=s kk=k pp=p tt=t ss=s")
}
