package rank

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
)

// maxQuestionWords bounds the words of a question that passages are scored by. Of a
// longer text pasted in as a query, these are the words with the greatest weights.
const maxQuestionWords = 96

// maxTypedWords is the largest number of words, stop words included, of a question
// that a person types. In a longer text quotation marks and minus signs are
// ordinary punctuation, and names of files do not make the question exact.
const maxTypedWords = 20

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
	terms   []string
	surface string  // the word as it was first written, normalized
	count   float64 // number of occurrences in the question: its query term frequency
	lone    bool    // one character of a script that is indexed in pairs
}

// NewQuestion analyzes the text of a query. It leaves out stop words unless there
// are no other words. Words that share a term are one word. With asYouType the last
// word is also a prefix.
func NewQuestion(a *analysis.Analyzer, text, language string, asYouType bool) *Question {
	parsed := a.Parse(text, language)
	typed := 0
	for _, w := range parsed.Words {
		if !w.Part {
			typed++
		}
	}
	long := typed > maxTypedWords
	q := &Question{}
	if !long {
		q.exact = len(parsed.Phrases) > 0
		for _, p := range parsed.Phrases {
			q.phrases = append(q.phrases, Phrase(p))
		}
		for _, p := range parsed.Excluded {
			q.excluded = append(q.excluded, Phrase(p))
		}
	}
	if asYouType {
		q.prefix = parsed.Prefix
	}
	onlyStops := !slices.ContainsFunc(parsed.Words, func(w analysis.QueryWord) bool { return !w.Stop })
	indexes := make(map[string]int) // of words, by term
	for _, w := range parsed.Words {
		if w.Stop && !onlyStops && (!w.Quoted || long) {
			continue
		}
		if !long && w.Exact && !w.Part && isIdentifier(w.Surface) {
			q.exact = true
		}
		q.add(&w, indexes)
	}
	return q
}

// add adds an occurrence of a word. indexes has the words so far by their terms.
func (q *Question) add(w *analysis.QueryWord, indexes map[string]int) {
	n := -1
	for _, term := range w.Terms {
		if i, ok := indexes[term]; ok {
			n = i
			break
		}
	}
	if n < 0 {
		n = len(q.words)
		q.words = append(q.words, questionWord{surface: w.Surface, count: 1, lone: w.Lone})
	} else if !w.Part {
		q.words[n].count++
	}
	for _, term := range w.Terms {
		if _, ok := indexes[term]; !ok {
			indexes[term] = n
			q.words[n].terms = append(q.words[n].terms, term)
			q.terms = append(q.terms, term)
		}
	}
}

// isIdentifier reports whether a word is an identifier, path, address or version.
// Numbers and hyphenated words are not: they are parts of ordinary sentences.
func isIdentifier(word string) bool {
	if strings.ContainsAny(word, "._/:@") {
		return !isAbbreviation(word) && !isDecimal(word)
	}
	return strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter)
}

// isAbbreviation reports whether a word is single letters with points between them,
// such as e.g and u.s.a.
func isAbbreviation(word string) bool {
	for part := range strings.SplitSeq(word, ".") {
		if utf8.RuneCountInString(part) > 1 {
			return false
		}
	}
	return true
}

// isDecimal reports whether a word is a number with a decimal point, such as 0.35.
func isDecimal(word string) bool {
	return strings.Count(word, ".") == 1 && !strings.ContainsFunc(word, func(r rune) bool { return r != '.' && !unicode.IsDigit(r) })
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
