package stem

// bulgarian is a light stemmer in the manner of J. Savoy (Searching Strategies for
// the Bulgarian Language, Information Retrieval 10, 2007): it cuts the article at
// the end of a word, the ending of number or person and the suffix of verbs and
// verbal nouns, and unifies consonants that change before an ending.
func bulgarian(word string) string {
	w := cut(word, 3, "ият ия=и ът ят ата=а ята=я ото=о ето=е ите=и ете=е стта=ст щта=щ")
	w = cut(w, 3, "ове еве ища овци и а я о е у ме ш те ия ие ии")
	w = cut(w, 4, "иран ир ирайт ирай ирам ац ван вам в вайт ан ян ен")
	w = cut(w, 3, "й ц=к")
	return withoutFleeting(w, 'ъ', "аеиоуъюя", "рлнмкс")
}
