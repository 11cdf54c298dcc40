package stem

import "strings"

// danish implements the Danish stemmer published with Snowball (snowballstem.org,
// algorithm "danish"). It folds first, except for the letter æ: the e of ae would be
// taken for the start of an ending.
func danish(word string) string {
	w := fold(strings.ReplaceAll(word, "ø", "o"))
	region := danishRegion(w)
	switch stem := cut(w, region, danishEndings); {
	case stem != w:
		w = stem
	case !strings.HasSuffix(w, "los") && len(w) > 1 && strings.IndexByte("abcdfghjklmnoprtvyz", w[len(w)-2]) >= 0:
		w = cut(w, region, "s")
	}
	w = cut(w, region, "gd=g dt=d gt=g kt=k")
	if rest, ok := strings.CutSuffix(w, "igst"); ok {
		w = rest + "ig"
	}
	if stem := cut(w, region, "ig lig elig els lost=los"); stem != w && !strings.HasSuffix(w, "lost") {
		w = cut(stem, region, "gd=g dt=d gt=g kt=k")
	} else {
		w = stem
	}
	if n := len(w); n-1 >= region && n > 1 && w[n-1] == w[n-2] && strings.IndexByte("bcdfghjklmnpqrstvwxz", w[n-1]) >= 0 {
		w = w[:n-1]
	}
	return strings.ReplaceAll(w, "æ", "ae")
}

const danishEndings = "hed ethed ered e erede ende erende ene erne ere en heden eren er heder erer heds es endes erendes enes ernes eres ens " +
	"hedens erens ers ets erets et eret"

// danishRegion returns the number of letters at the start of a word that no ending
// includes: those up to the first consonant after a vowel, and at least three.
func danishRegion(word string) int {
	vowel := false
	n := 0
	for _, r := range word {
		n++
		isVowel := strings.ContainsRune("aeiouyæ", r)
		if vowel && !isVowel {
			return max(n, 3)
		}
		vowel = isVowel
	}
	return n
}
