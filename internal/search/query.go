package search

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"magpie/internal/apierr"
	"magpie/internal/search/analysis"
)

// MaxLimit is the most results a query may ask for at once.
const MaxLimit = 100

// Query is a search.
type Query struct {
	Text      string  // what is asked; must not be blank
	Limit     int     // results at most, 1 to MaxLimit
	Offset    int     // results to leave out before the first, 0 or more
	MinScore  float64 // 0 to 1; 0 returns everything in the pool
	Highlight bool    // wrap the query's words in <mark> in snippets
	Filters   Filters
}

// Filters narrow a search to some documents. Zero fields do not filter.
type Filters struct {
	Section, Version, Language string
	Tags                       []string // any of them
	DocTypes                   []string // any of them
	// After and Before are days in UTC, both inclusive, compared with when the
	// source last changed the document, else with when it made it. A document
	// without either time does not match.
	After, Before time.Time
}

func (q *Query) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return apierr.Invalid("query", "must not be blank")
	case q.Limit < 1 || q.Limit > MaxLimit:
		return apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", MaxLimit))
	case q.Offset < 0:
		return apierr.Invalid("offset", "must be 0 or more")
	case math.IsNaN(q.MinScore) || q.MinScore < 0 || q.MinScore > 1:
		return apierr.Invalid("min_score", "must be between 0 and 1")
	}
	return nil
}

// word is a word of the question with every term that documents may have for it.
type word struct {
	terms []string
	idf   float64
}

// question is a query's text as the analyzer sees it.
type question struct {
	words []word
	terms []string       // of all words, each once
	of    map[string]int // term -> its word; the first one where words share a term
}

// maxWords bounds the words that are looked up: a question has fewer, and a
// text pasted in as a query is well described by its first ones.
const maxWords = 48

// newQuestion analyzes a text. Stop words are left out unless there are no
// others; words that stand for the same terms count once.
func newQuestion(a *analysis.Analyzer, text, language string) *question {
	all := a.Words(text, language)
	onlyStops := !slices.ContainsFunc(all, func(w analysis.Word) bool { return !w.Stop })
	q := &question{of: make(map[string]int)}
	for _, w := range all {
		if w.Stop && !onlyStops || len(q.words) == maxWords {
			continue
		}
		if _, seen := q.of[w.Terms[0]]; seen {
			continue
		}
		n := len(q.words)
		terms := w.Terms[:0:0]
		for _, term := range w.Terms {
			if _, seen := q.of[term]; !seen {
				q.of[term] = n
				terms = append(terms, term)
			}
		}
		q.words = append(q.words, word{terms: terms})
		q.terms = append(q.terms, terms...)
	}
	return q
}

// day is the start of a day in UTC, nil for the zero time.
func day(t time.Time, add int) *time.Time {
	if t.IsZero() {
		return nil
	}
	y, m, d := t.Date()
	start := time.Date(y, m, d+add, 0, 0, 0, 0, time.UTC)
	return &start
}
