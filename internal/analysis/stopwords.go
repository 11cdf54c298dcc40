package analysis

import (
	"math/bits"
	"slices"
	"sync"

	light "github.com/magpie-search/magpie/internal/analysis/stem"
	"github.com/magpie-search/magpie/internal/analysis/stopword"
)

// spelling is a word of a query as lists of stop words have it: folded in most languages, and with its diacritics in those
// whose terms keep them.
type spelling struct{ folded, marked string }

// spelling returns the spellings of a word, given its normalized form.
func (a *Analyzer) spelling(p piece, raw, folded string) spelling {
	return spelling{folded: folded, marked: a.term(p, raw, lightStemmer(light.Vietnamese))}
}

// stopWords returns which words of a query are stop words. Of the languages that documents may have, the list that has the
// most of the words decides, so that "die" is a stop word in a German question and not in an English one. The earlier list
// wins a tie. One word does not make a language, except English or the only one possible.
func stopWords(words []spelling, languages audience) []bool {
	stops := make([]bool, len(words))
	lists := stopLists()
	listed := make([]uint64, len(words)) // bit i: list i has the word
	var counts [maxStopLists]int
	for i, word := range words {
		listed[i] = lists.folded[word.folded] | lists.marked[word.marked]
		for set := listed[i]; set != 0; set &= set - 1 {
			counts[bits.TrailingZeros64(set)]++
		}
	}
	best, most := 0, 0
	for i, code := range lists.codes {
		if !languages.has(code) || len(languages) != 1 && code != "en" && counts[i] < 2 {
			continue
		}
		if counts[i] > most {
			best, most = i, counts[i]
		}
	}
	if most == 0 {
		return stops
	}
	for i := range words {
		stops[i] = listed[i]>>best&1 != 0
	}
	return stops
}

// maxStopLists is the largest number of lists: each is a bit of a number.
const maxStopLists = 64

// stopListIndex has the lists of all languages by their words.
type stopListIndex struct {
	codes  []string          // of list i
	folded map[string]uint64 // bit i: list i has the word, without diacritics
	marked map[string]uint64 // the same with diacritics, for lists of languages whose terms keep them
}

var stopLists = sync.OnceValue(func() *stopListIndex {
	x := &stopListIndex{folded: make(map[string]uint64), marked: make(map[string]uint64)}
	x.codes = []string{"en", "de", "fr", "es", "it", "pt", "nl", "ru"} // the likelier ones, which win ties
	for _, code := range stopword.Codes() {
		if !slices.Contains(x.codes, code) {
			x.codes = append(x.codes, code)
		}
	}
	for i, code := range x.codes {
		stem := stemmerOf(code)
		for _, word := range stopword.List(code) {
			if stem.keepsMarks() {
				x.marked[normalize(word, stem)] |= 1 << i
			} else {
				x.folded[normalize(word, stemNone)] |= 1 << i
			}
		}
	}
	return x
})

// StopTerms returns the terms under which documents store the stop words of any language. The map must not be changed.
var StopTerms = sync.OnceValue(func() map[string]bool {
	terms := make(map[string]bool)
	a := new(Analyzer)
	for _, code := range stopword.Codes() {
		for _, word := range stopword.List(code) {
			for _, documents := range []string{code, ""} {
				for _, token := range a.Tokens(word, documents) {
					terms[token.Term] = true
				}
			}
		}
	}
	return terms
})
