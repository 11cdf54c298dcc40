package stem

import "strings"

// indonesian implements the stemmer of F. Z. Tala (A Study of Stemming Effects on
// Information Retrieval in Bahasa Indonesia, 2003): it cuts particles, possessive
// pronouns, one or two prefixes and one suffix, and leaves at least two syllables.
// Malay has the same affixes. A nasal prefix replaces the first letter of the stem:
// p after mem, s after meny and t after men are restored, and k after meng in the
// common words that begin with it.
func indonesian(word string) string {
	if syllables(word) <= 2 {
		return word
	}
	w := cutSyllabic(word, "kah lah tah pun")
	w = cutSyllabic(w, "nya ku mu")
	w, first := cutPrefix(w, "meny=s peny=s memper= diper= meng peng men pen mem pem me di ter ke")
	if first == "" {
		w, _ = cutPrefix(w, "ber bel be per pel pe")
		return cutSyllabic(w, "kan an i")
	}
	switch first {
	case "ke", "peng", "peny", "pen", "pem":
		w = cutSyllabic(w, "an")
	case "di", "meng", "meny", "men", "mem", "me", "ter", "memper", "diper":
		w = cutSyllabic(w, "kan i")
	}
	w, _ = cutPrefix(w, "ber per")
	return w
}

// cutSyllabic returns word without the longest of the endings, and word itself where
// fewer than two syllables would remain. An i after a vowel is no ending.
func cutSyllabic(word, endings string) string {
	w := cut(word, 2, endings)
	if syllables(w) < 2 || word[len(w):] == "i" && strings.ContainsRune("aiueo", rune(w[len(w)-1])) {
		return word
	}
	return w
}

// cutPrefix returns word without the first of the prefixes that leaves two
// syllables, and that prefix. Prefixes are given between blanks; one that is followed
// by = and letters is replaced by these.
func cutPrefix(word, prefixes string) (stem, prefix string) {
	for entry := range strings.FieldsSeq(prefixes) {
		prefix, letters, _ := strings.Cut(entry, "=")
		w, ok := strings.CutPrefix(word, prefix)
		if !ok || syllables(w) < 2 {
			continue
		}
		vowel := strings.ContainsRune("aeiou", rune(w[0]))
		switch prefix {
		case "meny", "peny":
			if !vowel {
				continue
			}
		case "men", "pen":
			if vowel {
				letters = "t"
			}
		case "mem", "pem":
			if vowel {
				letters = "p"
			}
		case "meng", "peng":
			if vowel && lostK(w) {
				letters = "k"
			}
		case "bel", "pel":
			if !strings.HasPrefix(w, "ajar") {
				continue
			}
		case "be":
			if !strings.HasPrefix(w, "ker") {
				continue
			}
		}
		return letters + w, prefix
	}
	return word, ""
}

// lostK reports whether the part of a word after meng or peng is a common word
// without its first letter k.
func lostK(word string) bool {
	for start := range strings.FieldsSeq("irim unci elola eluar elompok embali embang enal etik ontrol onfigurasi ompilasi onversi umpul onsumsi " +
		"ombinasi osong urang oreksi ategori onfirmasi erja endali") {
		if strings.HasPrefix(word, start) {
			return true
		}
	}
	return false
}

// syllables returns the number of syllables of a word: its vowels, less one where it
// ends in a diphthong.
func syllables(word string) int {
	n := 0
	if strings.HasSuffix(word, "ai") || strings.HasSuffix(word, "au") || strings.HasSuffix(word, "oi") {
		n--
	}
	for i := range len(word) {
		if strings.IndexByte("aeiou", word[i]) >= 0 {
			n++
		}
	}
	return n
}
