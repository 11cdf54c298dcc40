package stem

// ukrainian is a light stemmer with the steps of the Snowball stemmer of Russian
// (snowballstem.org, algorithm "russian"): it cuts the reflexive particle, the ending
// of case or person and the suffix of verbs and verbal nouns, and unifies vowels
// that change in a closed syllable.
func ukrainian(word string) string {
	w := cut(word, 3, "ся сь")
	w = cut(cut(w, 4, "ань=ання ень=ення інь=іння"), 3, "ість=іст")
	w = cut(w, 3, "а я о е є у ю і и ї й ь ам ям ами ями ах ях ом ем єм ою ею єю ові еві єві ів їв ей ія ії ію ією ій іям іями іях "+
		"ий ого ього ому ьому ої им ім их іх ими іми ая її єї ння нню нням ннями ннях ть ти ють ять уть ать єте ете")
	w = cut(w, 4, "уван юван ован йован овува ува юва ову ує ює уй юй у ю а и і е я ен ан ян ам ом ем")
	w = cut(w, 3, "вл=в бл=б пл=п мл=м іст=ост")
	const vowels = "аеєиіїоуюя"
	return withoutFleeting(withoutFleeting(w, 'о', vowels, "кл"), 'е', vowels, "кнцлр")
}
