package rank

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
)

// maxQuestionWords bounds the words of a question. Real questions have fewer, and a
// text pasted in as a query is well described by its first words.
const maxQuestionWords = 48

// A Question is the analyzed text of a query. It is immutable.
type Question struct {
	words []questionWord
	terms []string // of all words, each once
	// exact says that the question names an identifier or a quoted phrase. Feedback
	// would only blur it.
	exact    bool
	prefix   string // prefix of the last word, "" for a whole word
	phrases  []Phrase
	excluded []Phrase
}

type questionWord struct {
	terms []string
	lone  bool // one character of a script that is indexed in pairs
}

// NewQuestion analyzes the text of a query. It leaves out stop words unless there
// are no other words, and counts words with the same terms once. With asYouType the
// last word is also a prefix.
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
		if len(q.words) == maxQuestionWords {
			break
		}
		if w.Exact && !w.Part && isIdentifier(w.Surface) {
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

// isIdentifier reports whether a word is an identifier, path, address or version.
// Numbers and hyphenated words are not: they are parts of ordinary sentences.
func isIdentifier(word string) bool {
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

// Terms returns the terms that the question's words may be indexed as.
func (q *Question) Terms() []string { return q.terms }

// extraPassages is the number of passages without any word of the question that idf
// adds to every collection. It keeps the words of a tiny collection from all being
// common.
const extraPassages = 1000

// idf returns BM25's inverse document frequency of a word that occurs in so many of
// the passages.
func idf(passages, frequency int) float64 {
	n, m := float64(passages+extraPassages), float64(min(frequency, passages))
	return math.Log(1 + (n-m+0.5)/(m+0.5))
}

// isContentTerm reports whether a term can describe a text. Numbers and single
// letters cannot.
func isContentTerm(term string) bool {
	r, size := utf8.DecodeRuneInString(term)
	if size == len(term) && r < 0x2E80 {
		return false
	}
	return strings.ContainsFunc(term, unicode.IsLetter)
}
