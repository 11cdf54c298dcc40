package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// Compounds. A compound of two words may be written as one word, with a hyphen or as
// two words: dryrun, dry-run, dry run. Documents in which it is one word, or has a
// hyphen, have a term for the whole. If a collection has such a term, all spellings of
// a question become the same words: the first stands for itself and for the whole, the
// second for itself. If the collection mostly writes the compound as one word, it is one
// word of the question, too, unless the question has two.

// A join adds the terms of a compound to a word of a question.
type join struct {
	word  string   // the surface of the word
	terms []string // of the whole
}

// isCompound reports whether a word is words of letters with hyphens between them.
func isCompound(surface string) bool {
	for part := range strings.SplitSeq(surface, "-") {
		if _, ok := spelling.Errors(part); !ok || utf8.RuneCountInString(part) < minPart {
			return false
		}
	}
	return true
}

// minPart is the least number of letters of a part of a compound.
const minPart = 2

// join applies a join to the question's words. indexes has the words by their terms.
func (q *Question) join(j join, indexes map[string]int) {
	for i := range q.words {
		if q.words[i].surface != j.word {
			continue
		}
		q.addTerms(i, j.terms, indexes)
		return
	}
}

// A compound is two words of a question, or one that may be two.
type compound struct {
	first, second string // surfaces
	start, end    int    // bytes of the question that an edit replaces: what is between the words
	written       style
	whole         []string // terms of the compound as one word
	stop          int      // number of its words that are stop words
	owner         string   // surface of the word that gets the terms of the whole
}

type style uint8

const (
	apart style = iota
	hyphenated
	solid
)

func (c *compound) hyphen() string { return c.first + "-" + c.second }

// maxCompounds bounds the compounds of a question that are looked up.
const maxCompounds = 48

// compounds returns the compounds that a question may have.
func (q *Question) compounds(a *analysis.Analyzer) []compound {
	var out []compound
	var last *analysis.QueryWord // the word before
	hyphen := -1                 // end of the last compound with a hyphen
	for i := range q.parsed {
		w := &q.parsed[i]
		if len(out) >= maxCompounds {
			break
		}
		if w.Quoted || w.Exact || w.Lone {
			last = nil
			continue
		}
		if strings.Contains(w.Surface, "-") {
			hyphen = -1
			if isCompound(w.Surface) && strings.Count(w.Surface, "-") == 1 {
				hyphen = w.End
			}
			last = nil
			continue
		}
		if w.Part && w.End > hyphen {
			continue // of camel case, or of a longer compound
		}
		if _, ok := spelling.Errors(w.Surface); !ok {
			last = nil
			continue
		}
		if last != nil && w.Position == last.Position+1 && utf8.RuneCountInString(last.Surface) >= minPart && utf8.RuneCountInString(w.Surface) >= minPart {
			c := compound{first: last.Surface, second: w.Surface, start: last.End, end: w.Start, written: apart, owner: last.Surface}
			between := q.text[c.start:c.end]
			if w.End <= hyphen {
				c.written = hyphenated
			}
			if c.written == hyphenated || strings.TrimSpace(between) == "" {
				c.whole = wholeOf(a, c.first+c.second, q.language)
				if last.Stop {
					c.stop++
					c.owner = w.Surface
				}
				if w.Stop {
					c.stop++
				}
				out = append(out, c)
			}
		}
		if w.End > hyphen && !w.Stop && strings.EqualFold(q.text[w.Start:w.End], w.Surface) {
			out = appendSplits(out, w)
		}
		last = w
	}
	return out
}

// wholeOf returns the terms of a compound as one word: the word itself, and its stem in
// the language, or in the likeliest one of its script. To stem it in all languages would
// take longer than everything else that a question costs here.
func wholeOf(a *analysis.Analyzer, word, language string) []string {
	out := []string{word}
	for _, token := range a.Tokens(word, language) {
		if !slices.Contains(out, token.Term) {
			out = append(out, token.Term)
		}
	}
	return out
}

// formsOf returns the terms under which documents may have stored a word.
func formsOf(a *analysis.Analyzer, word, language string) []string {
	words := a.Words(word, language)
	if len(words) != 1 {
		return nil
	}
	return words[0].Terms
}

// maxSplit is the length in letters of the longest word that may be a compound.
const maxSplit = 24

// appendSplits appends the ways in which a word may be two.
func appendSplits(out []compound, w *analysis.QueryWord) []compound {
	n := utf8.RuneCountInString(w.Surface)
	if n < 2*minPart || n > maxSplit {
		return out
	}
	at := 0
	for i, r := range w.Surface {
		if at >= minPart && n-at >= minPart && !unicode.IsMark(r) {
			out = append(out, compound{
				first: w.Surface[:i], second: w.Surface[i:], start: w.Start + i, end: w.Start + i, written: solid,
				whole: w.Terms, owner: w.Surface,
			})
		}
		at++
	}
	return out
}
