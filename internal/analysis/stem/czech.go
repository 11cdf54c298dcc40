package stem

// czech implements the light stemmer of L. Dolamic and J. Savoy (Indexing and
// Stemming Approaches for the Czech Language, Information Processing and
// Management 45, 2009): it cuts endings of case and of possession and unifies
// consonants that change before an ending. It also cuts suffixes of verbs and verbal
// nouns, which are frequent in technical text.
func czech(word string) string {
	w := cut(fold(word), 3, "atech etem atum ech ich eho emi emu ete eti iho imi imu ach ata aty ych ama ami ove ovi ymi "+
		"em es im um at am os us ym mi ou a e i o u y")
	return westSlavic(w)
}

// slovak is the stemmer of czech with the case endings of Slovak.
func slovak(word string) string {
	w := cut(fold(word), 3, "atami atach atam ata aty och om ami mi iach iam ach am eho emu ich im imi ej ymi ych ym ou ov ovi ove iu ia ie iou "+
		"ii a e i o u y")
	return westSlavic(w)
}

// westSlavic cuts the suffix that precedes a case ending in Czech and Slovak, and
// unifies the consonants at the end of the stem.
func westSlavic(w string) string {
	w = cut(w, 4, "ovan ovat ovav ova uj ujic ujuc ovani ovaci izac=iz urac=ur alac=al ikac=ik strac=str ntac=nt erac=er gac=g ov uv in em")
	w = cut(w, 3, "c=k z=h")
	return withoutFleeting(w, 'e', "aeiouy", "bckhlmnrv")
}
