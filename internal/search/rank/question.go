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
	text      string
	language  string // of the documents, "" for any
	asYouType bool
	parsed    []analysis.QueryWord
	joins     []join // applied to words
	words     []questionWord
	terms     []string // of all words, each once
	// exact says that the question names an identifier or a quoted phrase. Feedback
	// would only blur it.
	exact bool
	// prefix is what the last word begins with, "" for a whole word; unfinished is the index
	// of that word, -1 for none, and inflected are stems that it may get.
	prefix     string
	unfinished int
	inflected  []string
	phrases    []Phrase
	excluded   []Phrase
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
	return newQuestion(a, text, language, asYouType, nil)
}

// In returns the question put to documents in a language, "" for any.
func (q *Question) In(a *analysis.Analyzer, language string) *Question {
	return newQuestion(a, q.text, language, q.asYouType, q.joins)
}

// Text returns the text of the question.
func (q *Question) Text() string { return q.text }

func newQuestion(a *analysis.Analyzer, text, language string, asYouType bool, joins []join) *Question {
	parsed := a.Parse(text, language)
	typed := 0
	for _, w := range parsed.Words {
		if !w.Part {
			typed++
		}
	}
	long := typed > maxTypedWords
	q := &Question{text: text, language: language, asYouType: asYouType, parsed: parsed.Words, joins: joins, unfinished: -1}
	if !long {
		q.exact = len(parsed.Phrases) > 0
		for _, p := range parsed.Phrases {
			q.phrases = append(q.phrases, Phrase(p))
		}
		for _, p := range parsed.Excluded {
			q.excluded = append(q.excluded, Phrase(p))
		}
	}
	if asYouType && parsed.Prefix != "" {
		q.prefix, q.inflected = parsed.Prefix, a.Completions(parsed.Prefix, language)
	}
	onlyStops := !slices.ContainsFunc(parsed.Words, func(w analysis.QueryWord) bool { return !w.Stop })
	indexes := make(map[string]int) // of words, by term
	wholeEnd, owner := 0, -1        // end of the last compound, index of the part that stands for it
	var whole []string              // its terms
	for i, w := range parsed.Words {
		part := w.End <= wholeEnd
		if w.Stop && !onlyStops && !part && (!w.Quoted || long) {
			if q.prefix != "" && w.End == len(text) { // it may become another word
				q.unfinished = len(q.words)
				q.words = append(q.words, questionWord{surface: w.Surface, count: 1})
			}
			continue
		}
		if !long && w.Exact && !w.Part && isIdentifier(w.Surface) {
			q.exact = true
		}
		if isWhole(&w) {
			if owner = mainPart(parsed.Words, i); owner > i {
				whole, wholeEnd = w.Terms, w.End
				continue
			}
		}
		if part {
			w.Part = false // it is written in the question
		}
		n := q.add(&w, indexes)
		if q.prefix != "" {
			q.unfinished = n
		}
		if part && i == owner {
			q.addTerms(n, whole, indexes)
		}
	}
	for _, j := range joins {
		q.join(j, indexes)
	}
	return q
}

// isWhole reports whether a word is words of letters with hyphens between them. It
// counts as matched by its parts and as one: a part stands for the whole, too. Stop words
// are words like others in it.
func isWhole(w *analysis.QueryWord) bool {
	return !w.Exact && !w.Quoted && strings.Contains(w.Surface, "-") && isCompound(w.Surface)
}

// mainPart returns the index of the part of a compound that stands for the whole: the
// first one that is no stop word. Without parts it returns the index of the compound.
func mainPart(words []analysis.QueryWord, whole int) int {
	first := whole
	for i := whole + 1; i < len(words) && words[i].Part && words[i].End <= words[whole].End; i++ {
		if !words[i].Stop {
			return i
		}
		if first == whole {
			first = i
		}
	}
	return first
}

// add adds an occurrence of a word and returns its index. indexes has the words so far
// by their terms.
func (q *Question) add(w *analysis.QueryWord, indexes map[string]int) int {
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
	q.addTerms(n, w.Terms, indexes)
	return n
}

// addTerms adds terms to a word, except those of other words.
func (q *Question) addTerms(word int, terms []string, indexes map[string]int) {
	for _, term := range terms {
		if _, ok := indexes[term]; !ok {
			indexes[term] = word
			q.words[word].terms = append(q.words[word].terms, term)
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

// extraPassages is the number of passages without any word of the question that are
// added to every collection for the weights of words. It keeps the words of a tiny
// collection from all being common.
const extraPassages = 1000

// idf returns BM25's inverse document frequency of a word that occurs in so many of
// the passages.
func idf(passages, frequency int) float64 {
	n, m := float64(passages), float64(min(frequency, passages))
	return math.Log(1 + (n-m+0.5)/(m+0.5))
}

// DocumentFrequency returns the number of passages with a word, of so many, from its idf.
func DocumentFrequency(passages int, idf float64) float64 {
	n := float64(passages + extraPassages)
	return max(0, (n+1)/math.Exp(idf)-0.5)
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
