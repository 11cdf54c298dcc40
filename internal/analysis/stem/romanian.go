package stem

// romanian is a light stemmer in the manner of those of J. Savoy for Romance
// languages (Light Stemming Approaches for the French, Portuguese, German and
// Hungarian Languages, SAC 2006): it cuts the article and the ending of number and
// case, then the suffix of verbs and verbal nouns. It folds first, which unifies the
// letters ș and ț with their older forms ş and ţ.
func romanian(word string) string {
	w := cut(fold(word), 3, "ului ul lui elor ele ilor iilor iile ile iei ei ii ia ie a e i o u ea")
	w = cut(w, 3, "oar=or")
	return cut(w, 4, "at ar and eaz ez ator it ir ind ur i")
}
