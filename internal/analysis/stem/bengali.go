package stem

import "strings"

// bengali is a light stemmer in the manner of L. Dolamic and J. Savoy (Comparative Study
// of Indexing and Search Strategies for the Hindi, Marathi, and Bengali Languages,
// TALIP 9, 2010): it unifies long and short vowels and cuts cases, articles and
// plurals of nouns and the endings of the commonest tenses.
func bengali(word string) string {
	w := strings.Map(func(r rune) rune {
		switch r {
		case 'ী':
			return 'ি'
		case 'ূ':
			return 'ু'
		case 'ঁ', '়', joiner, nonJoiner:
			return -1
		}
		return r
	}, word)
	for range 3 {
		w = cut(w, 2, "টি টা গুলি গুলো রা দের দেরকে কে ের যের যে য র তে ে েন ুন বে বেন ছে ছেন েছে েছেন")
	}
	return cut(w, 2, "া ি ু ো")
}
