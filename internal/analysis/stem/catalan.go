package stem

// catalan is a light stemmer in the manner of those of J. Savoy for Romance
// languages (Light Stemming Approaches for the French, Portuguese, German and
// Hungarian Languages, SAC 2006): it cuts the plural and the gender, then the
// suffix of verbs and verbal nouns.
func catalan(word string) string {
	w := fold(word)
	w = cut(w, 3, "ques=c gues=g ons=o ins=i os es as s")
	w = cut(w, 3, "ca=c ga=g ja=g gua=g qua=c a e o")
	w = cut(w, 3, "i")
	return cut(w, 4, "ac ic at ad ar ant ment it id ir int eu ar ab ess")
}
