package chat

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// Limits of an answer made of quotes.
const (
	minQuotes     = 2
	maxQuotes     = 5
	maxQuoteRunes = 600  // of a sentence; a longer one is cut at a word
	maxBlockRunes = 2400 // of code, a table or a list; a longer one is left out, since it cannot be cut
	maxTotalRunes = 4000
)

// Weights and thresholds of quotes.
const (
	headingWeight      = 0.3  // of a query word that occurs only in the title or a heading
	carriedWeight      = 0.5  // of a query word that comes from an earlier question
	minRelativeScore   = 0.45 // of the best score, for further quotes
	maxSimilarity      = 0.6  // share of common terms, above which two quotes say the same
	confidentScore     = 0.5  // search score from which a passage is quoted without a query word
	longQuoteTerms     = 40.0 // longer quotes may contain query words by chance
	shortSentenceWords = 4    // shorter sentences say little
	shortFactor        = 0.5
	questionFactor     = 0.6  // a question does not answer
	foreignFactor      = 0.7  // a quote in another language than the question
	minOverlap         = 0.15 // part of the query words in the best quote, unless its passage is confident
)

// candidate is a unit of a passage with its score.
type candidate struct {
	unit
	hitIndex, order int
	terms           map[string]bool
	overlap         float64 // weighted part of the query words that the unit has
	score           float64
}

// queryWord is a word of the question.
type queryWord struct {
	terms  []string
	weight float64
}

// selectQuotes returns the quotes that answer a question best: two to five if
// the passages have that many, ordered by the best quote of their passage and
// then by their position. Brackets that look like citations are escaped. It
// returns none if nothing fits.
func selectQuotes(a *analysis.Analyzer, question, standalone string, hits []search.Hit) []candidate {
	all := candidates(a, hits)
	words := queryWords(a, question, standalone)
	scoreCandidates(a, all, words, hits, languageOf(question))
	byScore := slices.Clone(all)
	slices.SortStableFunc(byScore, func(x, y candidate) int { return cmp.Compare(y.score, x.score) })
	if len(byScore) == 0 {
		return nil
	}
	var chosen []candidate
	switch best := byScore[0]; {
	case best.overlap < minOverlap && hits[best.hitIndex].Score < confidentScore && hits[0].Score < confidentScore:
		return nil
	case best.overlap == 0:
		chosen = openingQuotes(all)
	default:
		chosen = addNeighbour(pickQuotes(byScore), all)
	}
	bestRank := make(map[int]int) // by hit
	for rank, q := range chosen {
		if _, known := bestRank[q.hitIndex]; !known {
			bestRank[q.hitIndex] = rank
		}
	}
	slices.SortFunc(chosen, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(bestRank[x.hitIndex], bestRank[y.hitIndex]), cmp.Compare(x.order, y.order))
	})
	for i := range chosen {
		chosen[i].text = escapeCitations(chosen[i].text)
	}
	return chosen
}

// candidates splits the passages into units. Of equal units, as in two versions
// of a page, the one of the better passage is kept.
func candidates(a *analysis.Analyzer, hits []search.Hit) []candidate {
	var all []candidate
	seen := make(map[string]bool)
	for h, hit := range hits {
		for order, u := range splitUnits(hit.Text, hit.Language) {
			if u.isBlock && utf8.RuneCountInString(u.text) > maxBlockRunes || seen[fold(u.text)] {
				continue
			}
			seen[fold(u.text)] = true
			terms := make(map[string]bool)
			for _, token := range a.Tokens(u.text, hit.Language) {
				terms[token.Term] = true
			}
			if !u.isBlock {
				u.text = truncateAtWord(u.text, maxQuoteRunes)
			}
			all = append(all, candidate{unit: u, hitIndex: h, order: order, terms: terms})
		}
	}
	return all
}

// queryWords returns the words to look for. Words that only the standalone
// question has weigh less.
func queryWords(a *analysis.Analyzer, question, standalone string) []queryWord {
	var words []queryWord
	seen := make(map[string]bool)
	add := func(text string, weight float64) {
		all := a.Words(text, "")
		onlyStops := !slices.ContainsFunc(all, func(w analysis.Word) bool { return !w.Stop })
		for _, w := range all {
			if w.Stop && !onlyStops || seen[w.Terms[0]] {
				continue
			}
			seen[w.Terms[0]] = true
			words = append(words, queryWord{terms: w.Terms, weight: weight})
		}
	}
	add(question, 1)
	if standalone != question {
		add(standalone, carriedWeight)
	}
	return words
}

// scoreCandidates scores each candidate by its query words, weighted by their
// rarity, and by its passage.
func scoreCandidates(a *analysis.Analyzer, all []candidate, words []queryWord, hits []search.Hit, l language) {
	has := func(terms map[string]bool, w queryWord) bool {
		return slices.ContainsFunc(w.terms, func(t string) bool { return terms[t] })
	}
	headingTerms := make([]map[string]bool, len(hits))
	for i, hit := range hits {
		headingTerms[i] = make(map[string]bool)
		for _, token := range a.Tokens(hit.Title+"\n"+strings.Join(hit.Headings, "\n"), hit.Language) {
			headingTerms[i][token.Term] = true
		}
	}
	total := 0.0
	weights := make([]float64, len(words))
	for i, w := range words {
		n := 0.0
		for _, q := range all {
			if has(q.terms, w) {
				n++
			}
		}
		weights[i] = w.weight * math.Log(1+(float64(len(all))-n+0.5)/(n+0.5))
		total += weights[i]
	}
	if total == 0 {
		return
	}
	const minScore = 0.01 // a passage without a score still counts
	top := minScore
	for _, hit := range hits {
		top = max(top, hit.Score)
	}
	for i := range all {
		q := &all[i]
		headingOverlap := 0.0
		for j, w := range words {
			switch {
			case has(q.terms, w):
				q.overlap += weights[j] / total
			case has(headingTerms[q.hitIndex], w):
				headingOverlap += weights[j] / total
			}
		}
		q.score = (q.overlap + headingWeight*headingOverlap) * max(hits[q.hitIndex].Score, minScore) / top
		if n := len(q.terms); n > longQuoteTerms {
			q.score *= math.Sqrt(longQuoteTerms / float64(n))
		}
		if !q.isBlock && strings.Count(q.text, " ")+1 < shortSentenceWords && !strings.ContainsFunc(q.text, isWide) {
			q.score *= shortFactor
		}
		if strings.HasSuffix(q.text, "?") || strings.HasSuffix(q.text, "？") {
			q.score *= questionFactor
		}
		if foreign := languageOfHit(hits[q.hitIndex]); l != unknown && foreign != unknown && foreign != l {
			q.score *= foreignFactor
		}
		q.score += 0.02 / float64(1+q.hitIndex+q.order) // prefers the earlier of equal quotes
	}
}

// isWide reports whether r belongs to a script without blanks between words.
func isWide(r rune) bool { return r >= 0x0e00 && r < 0x0f00 || r >= 0x2e80 }

// pickQuotes returns the best quotes that are close to the very best and do not
// repeat each other.
func pickQuotes(byScore []candidate) []candidate {
	var chosen []candidate
	runes := 0
	for _, q := range byScore {
		if len(chosen) == maxQuotes || q.overlap == 0 || q.score < minRelativeScore*byScore[0].score {
			break
		}
		size := utf8.RuneCountInString(q.text)
		isRepeat := slices.ContainsFunc(chosen, func(other candidate) bool { return similarity(q.terms, other.terms) > maxSimilarity })
		if isRepeat || len(chosen) > 0 && runes+size > maxTotalRunes {
			continue
		}
		chosen = append(chosen, q)
		runes += size
	}
	return chosen
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

// addNeighbour adds the next or else the previous unit of the passage to a
// single quote.
func addNeighbour(chosen, all []candidate) []candidate {
	if len(chosen) != 1 {
		return chosen
	}
	at := slices.IndexFunc(all, func(q candidate) bool { return q.hitIndex == chosen[0].hitIndex && q.order == chosen[0].order })
	for _, i := range []int{at + 1, at - 1} {
		if i >= 0 && i < len(all) && all[i].hitIndex == chosen[0].hitIndex && !strings.HasSuffix(all[i].text, "?") {
			return append(chosen, all[i])
		}
	}
	return chosen
}

// openingQuotes returns the beginning of the best passage.
func openingQuotes(all []candidate) []candidate {
	n := 0
	for n < len(all) && n < minQuotes && all[n].hitIndex == all[0].hitIndex {
		n++
	}
	return slices.Clone(all[:n])
}
