package rank

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/analysis"
)

// maxWords bounds the words of a question that are looked up: a question has
// fewer, and a text pasted in as a query is well described by its first ones.
const maxWords = 48

// Question is a query's text as the analyzer sees it. It is read-only once made.
type Question struct {
	words []questionWord
	terms []string // of all words, each once
	// exact tells that the question names something: an identifier or a quoted
	// phrase. What is asked is then not blurred by other words.
	exact    bool
	prefix   string // what the last word must begin with, "" for a whole word
	phrases  []Phrase
	excluded []Phrase
}

type questionWord struct {
	terms []string
	lone  bool // one character of a script that is indexed in pairs
}

// NewQuestion analyzes a query. Stop words are left out unless there are no
// others; words that stand for the same terms count once. With asYouType the
// last word is also taken for the beginning of one.
func NewQuestion(a *analysis.Analyzer, text, language string, asYouType bool) *Question {
	parsed := a.Parse(text, language)
	q := &Question{exact: len(parsed.Phrases) > 0}
	for _, p := range parsed.Phrases {
		q.phrases = append(q.phrases, Phrase(p))
	}
	for _, p := range parsed.Excluded {
		q.excluded = append(q.excluded, Phrase(p))
	}
	if asYouType {
		q.prefix = parsed.Prefix
	}
	onlyStops := !slices.ContainsFunc(parsed.Words, func(w analysis.QueryWord) bool { return !w.Stop })
	seen := make(map[string]bool)
	for _, w := range parsed.Words {
		if w.Stop && !onlyStops && !w.Quoted {
			continue
		}
		if len(q.words) == maxWords {
			break
		}
		if w.Exact && !w.Part && isName(w.Surface) {
			q.exact = true
		}
		var terms []string
		for _, term := range w.Terms {
			if !seen[term] {
				seen[term] = true
				terms = append(terms, term)
			}
		}
		if len(terms) > 0 {
			q.words = append(q.words, questionWord{terms: terms, lone: w.Lone})
			q.terms = append(q.terms, terms...)
		}
	}
	return q
}

// isName reports identifiers, paths, addresses and versions. Numbers and words
// with hyphens are none: they are parts of ordinary sentences.
func isName(word string) bool {
	if strings.ContainsAny(word, "._/:@") {
		return true
	}
	return strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter)
}

// Restrict adds the question's phrases and exclusions to a filter.
func (q *Question) Restrict(f *Filter) {
	f.Phrases = append(f.Phrases, q.phrases...)
	f.Excluded = append(f.Excluded, q.excluded...)
}

// Terms are the terms that the question's words may be stored under.
func (q *Question) Terms() []string { return q.terms }

// background is how many passages without any word of the question are added
// to every collection when rarity is reckoned. It keeps a collection of a few
// passages from taking every word that it has for a common one.
const background = 1000

// rarity is BM25's inverse document frequency with the background added.
func rarity(passages, matching int) float64 {
	n, m := float64(passages+background), float64(min(matching, passages))
	return math.Log(1 + (n-m+0.5)/(m+0.5))
}
