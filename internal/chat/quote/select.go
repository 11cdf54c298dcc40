package quote

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A Question is what quotes are to answer.
type Question struct {
	Text string // as asked
	// Standalone is Text with the words of earlier questions; "" means Text.
	Standalone string
	// Words are the words that were searched for, with their weights, and Passages is
	// the number of passages that were searched. Without them the words are weighted by
	// the number of units that have them.
	Words    []rank.Word
	Passages int
}

// A Quote is a verbatim part of a passage.
type Quote struct {
	Text     string
	HitIndex int // index of the passage
	// Block reports whether Text is a table, code or a list.
	Block bool
	// Continues reports whether Text follows the quote before it in one paragraph.
	Continues bool
}

// Limits of the search whose results are quoted. The score of a passage has little effect
// on whether it is quoted.
const (
	Passages = 8
	MinScore = 0.01
)

// Limits of an answer made of quotes.
const (
	maxQuotes     = 5
	maxQuoteRunes = 600  // of a sentence; a longer one is cut at a word
	maxBlockRunes = 2400 // of code, a table or a list; a longer one is left out, since it cannot be cut
	maxTotalRunes = 4000
)

// Weights and thresholds of quotes.
const (
	minRelativeScore    = 0.45 // of the best score, for further quotes
	minRelativeCoverage = 0.5  // of the best quote's words with their context, for further quotes
	maxSimilarity       = 0.6  // share of common terms, above which two quotes say the same
)

// Select returns the quotes that answer a question best, ordered by the best quote of
// their passage and then by their position. It returns none if no passage answers the
// question. Hits are ordered by falling score.
func Select(a *analysis.Analyzer, q Question, hits []search.Hit) []Quote {
	s := newSelection(a, &q, hits)
	if !s.isAnswered() {
		return nil
	}
	chosen := s.addContext(s.pick())
	bestRank := make(map[int]int) // by hit
	for rank, i := range chosen {
		if _, known := bestRank[s.units[i].hitIndex]; !known {
			bestRank[s.units[i].hitIndex] = rank
		}
	}
	slices.SortFunc(chosen, func(x, y int) int {
		return cmp.Or(cmp.Compare(bestRank[s.units[x].hitIndex], bestRank[s.units[y].hitIndex]), cmp.Compare(x, y))
	})
	quotes := make([]Quote, len(chosen))
	for n, i := range chosen {
		c := &s.units[i]
		quotes[n] = Quote{Text: c.text, HitIndex: c.hitIndex, Block: c.isBlock}
		if n > 0 && chosen[n-1] == i-1 {
			previous := &s.units[i-1]
			quotes[n].Continues = previous.hitIndex == c.hitIndex && previous.blockIndex == c.blockIndex && !c.isBlock && !previous.isBlock
		}
	}
	return quotes
}

// pick returns the best units that are close to the very best and do not repeat each
// other, best first.
func (s *selection) pick() []int {
	order := make([]int, len(s.units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(s.units[y].score, s.units[x].score) })
	var chosen []int
	runes := 0
	for _, i := range order {
		c := &s.units[i]
		if len(chosen) == maxQuotes || c.score <= 0 || c.score < minRelativeScore*s.units[order[0]].score {
			break
		}
		size := utf8.RuneCountInString(c.text)
		if !s.belongsTo(order[0], i) {
			continue
		}
		isRepeat := slices.ContainsFunc(chosen, func(other int) bool { return similarity(c.terms, s.units[other].terms) > maxSimilarity })
		if isRepeat || len(chosen) > 0 && runes+size > maxTotalRunes {
			continue
		}
		chosen = append(chosen, i)
		runes += size
	}
	return chosen
}

// belongsTo reports whether a unit has, with its context, enough of the question's words
// to stand beside the best one. In another passage it also needs the same names.
func (s *selection) belongsTo(best, i int) bool {
	if s.units[i].hitIndex != s.units[best].hitIndex {
		for j := range s.words {
			if w := &s.words[j]; w.isName && s.credit(w, i) == 0 && s.credit(w, best) > 0 {
				return false
			}
		}
	}
	return s.units[i].coverage >= minRelativeCoverage*s.units[best].coverage
}

// similarity returns the share of terms that two quotes have in common.
func similarity(x, y map[string]bool) float64 {
	common := 0
	for term := range x {
		if y[term] {
			common++
		}
	}
	return float64(common) / float64(max(1, len(x)+len(y)-common))
}

// addContext adds the unit before one that begins with a pronoun. To a single quote
// without one it adds the unit after it, or else the one before.
func (s *selection) addContext(chosen []int) []int {
	isNear := func(i, of int) bool {
		return i >= 0 && i < len(s.units) && s.units[i].hitIndex == s.units[of].hitIndex && !strings.HasSuffix(s.units[i].text, "?")
	}
	for _, i := range slices.Clone(chosen) {
		c := &s.units[i]
		if before := i - 1; !c.isBlock && len(chosen) < maxQuotes && isNear(before, i) && s.units[before].blockIndex == c.blockIndex &&
			!slices.Contains(chosen, before) && beginsWithPronoun(c.text) {
			chosen = append(chosen, before)
		}
	}
	if len(chosen) == 1 {
		for _, i := range []int{chosen[0] + 1, chosen[0] - 1} {
			if isNear(i, chosen[0]) {
				return append(chosen, i)
			}
		}
	}
	return chosen
}

// TruncateAtWord returns a text of at most limit characters, which must be positive. A
// longer text is cut at a blank or line break near its end and gets an ellipsis.
func TruncateAtWord(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	cut := limit - 1
	for i := cut; i > cut*2/3; i-- {
		if runes[i] == ' ' || runes[i] == '\n' {
			cut = i
			break
		}
	}
	return strings.TrimRight(string(runes[:cut]), " \n") + "…"
}
