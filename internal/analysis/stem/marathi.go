package stem

// marathi is a light stemmer in the manner of L. Dolamic and J. Savoy (Comparative Study
// of Indexing and Search Strategies for the Hindi, Marathi, and Bengali Languages,
// TALIP 9, 2010): it cuts the postpositions that are written at the end of a noun
// and the vowel that joins noun and postposition.
func marathi(word string) string {
	w := devanagari(word)
	w = cut(w, 2, "साठि मध्ये मधिल मधुन च्या चे चि चा चं चें ना ला नि ने वर वरिल वरुन त तिल तुन शि हुन पासुन पेक्षा करिता द्वारे बद्दल प्रमाणे कडे कडुन सह खालि हि च")
	return cut(w, 2, "ा े ि ो ु ं ां ें िं ों या यां ये ुन णे ण्या ण्यां णा ता ते ति तात ल ला लि ले")
}
