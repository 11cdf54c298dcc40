package stem

// turkish is a light stemmer: it cuts endings of case, possession and number and the
// commonest endings of verbs, one after the other. F. Can et al. (Information
// Retrieval on Turkish Texts, JASIST 59, 2008) found no significant difference
// between a lemmatizer and the first five letters of a word.
//
// It folds first. Vowel harmony then leaves two forms of each ending, and the
// dotless i, which becomes a plain i when its capital is written in lower case by
// the rules of other languages, makes no difference.
func turkish(word string) string {
	w := fold(word)
	for range 6 { // the endings of the longest words
		before := w
		w = cut(w, 4, "yi yu ya ye da de ta te dan den tan ten la le yla yle ca ce n in un im um niz nuz miz muz iniz unuz imiz umuz si su sin sun a e i u "+
			"mak mek ma me iyor uyor yor acak ecek")
		w = cut(w, 2, "lar ler")
		if w == before {
			break
		}
	}
	return cut(w, 1, "ab=ap eb=ep ib=ip ub=up ob=op ag=ak eg=ek ig=ik ug=uk og=ok")
}
