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

// Bounds of an answer made of quotes.
const (
	minQuotes     = 2
	maxQuotes     = 5
	maxQuoteRunes = 600  // of a sentence; a longer one is cut at a word
	maxBlockRunes = 2400 // of code, a table or a list; a longer one is left out, since it must not be cut
	maxTotalRunes = 4000
)

// Weights of a quote's score.
const (
	headingShare   = 0.3  // what a word of the question counts that stands in title or headings only
	carriedShare   = 0.5  // what a word counts that an earlier question brought in
	closeEnough    = 0.45 // of the best score: what a further quote must reach
	tooAlike       = 0.6  // share of common terms from which two quotes say the same
	sureScore      = 0.5  // search score from which a passage is quoted although it shares no word with the question
	longQuote      = 40.0 // terms; more are likely to have some of the question's words by chance
	shortSentence  = 4    // words; shorter ones say little
	shortPenalty   = 0.5
	questionFactor = 0.6  // a question answers nothing
	foreignFactor  = 0.7  // a quote in another language than the question's
	groundShare    = 0.15 // share of the question's words that the best quote must have, unless its passage is sure
)

// quoteOf is a unit of a passage with what it is worth.
type quoteOf struct {
	unit
	hit, order int
	terms      map[string]bool
	own        float64 // share of the question's words that it has itself
	score      float64
}

// wanted is a word of the question.
type wanted struct {
	terms  []string
	weight float64
}

// extract chooses the quotes that answer a question best, two to five where the passages have as many, in the order to show
// them: passages by their best quote, and in the order of the text within a passage. What would pass for a citation in them
// is escaped. It returns none when nothing fits.
func extract(a *analysis.Analyzer, question, standalone string, hits []search.Hit) []quoteOf {
	all := candidates(a, hits)
	words := wantedWords(a, question, standalone)
	rate(a, all, words, hits, languageOf(question))
	byScore := slices.Clone(all)
	slices.SortStableFunc(byScore, func(x, y quoteOf) int { return cmp.Compare(y.score, x.score) })
	if len(byScore) == 0 {
		return nil
	}
	var chosen []quoteOf
	switch best := byScore[0]; {
	case best.own < groundShare && hits[best.hit].Score < sureScore && hits[0].Score < sureScore:
		return nil
	case best.own == 0:
		chosen = opening(all)
	default:
		chosen = withNext(pick(byScore), all)
	}
	best := make(map[int]int) // of a hit: the rank of its best quote
	for rank, q := range chosen {
		if _, known := best[q.hit]; !known {
			best[q.hit] = rank
		}
	}
	slices.SortFunc(chosen, func(x, y quoteOf) int {
		return cmp.Or(cmp.Compare(best[x.hit], best[y.hit]), cmp.Compare(x.order, y.order))
	})
	for i := range chosen {
		chosen[i].text = withEscapedCitations(chosen[i].text)
	}
	return chosen
}

// candidates cuts the passages up. Equal quotes, as two versions of a page have them, stay with the better passage.
func candidates(a *analysis.Analyzer, hits []search.Hit) []quoteOf {
	var all []quoteOf
	seen := make(map[string]bool)
	for h, hit := range hits {
		for order, u := range units(hit.Text) {
			if u.whole && utf8.RuneCountInString(u.text) > maxBlockRunes || seen[fold(u.text)] {
				continue
			}
			seen[fold(u.text)] = true
			terms := make(map[string]bool)
			for _, token := range a.Tokens(u.text, hit.Language) {
				terms[token.Term] = true
			}
			if !u.whole {
				u.text = shorten(u.text, maxQuoteRunes)
			}
			all = append(all, quoteOf{unit: u, hit: h, order: order, terms: terms})
		}
	}
	return all
}

// wantedWords lists the words to look for; those that only the standalone form has count less.
func wantedWords(a *analysis.Analyzer, question, standalone string) []wanted {
	var words []wanted
	seen := make(map[string]bool)
	add := func(text string, weight float64) {
		all := a.Words(text, "")
		onlyStops := !slices.ContainsFunc(all, func(w analysis.Word) bool { return !w.Stop })
		for _, w := range all {
			if w.Stop && !onlyStops || seen[w.Terms[0]] {
				continue
			}
			seen[w.Terms[0]] = true
			words = append(words, wanted{terms: w.Terms, weight: weight})
		}
	}
	add(question, 1)
	if standalone != question {
		add(standalone, carriedShare)
	}
	return words
}

// rate scores every candidate by the words it has, rare ones counting more, and by its passage.
func rate(a *analysis.Analyzer, all []quoteOf, words []wanted, hits []search.Hit, l language) {
	has := func(terms map[string]bool, w wanted) bool {
		return slices.ContainsFunc(w.terms, func(t string) bool { return terms[t] })
	}
	around := make([]map[string]bool, len(hits))
	for i, hit := range hits {
		around[i] = make(map[string]bool)
		for _, token := range a.Tokens(hit.Title+"\n"+strings.Join(hit.Headings, "\n"), hit.Language) {
			around[i][token.Term] = true
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
	const minScore = 0.01 // a passage without a score still counts a little
	top := minScore
	for _, hit := range hits {
		top = max(top, hit.Score)
	}
	for i := range all {
		q := &all[i]
		headed := 0.0
		for j, w := range words {
			switch {
			case has(q.terms, w):
				q.own += weights[j] / total
			case has(around[q.hit], w):
				headed += weights[j] / total
			}
		}
		q.score = (q.own + headingShare*headed) * max(hits[q.hit].Score, minScore) / top
		if n := len(q.terms); n > longQuote {
			q.score *= math.Sqrt(longQuote / float64(n))
		}
		if !q.whole && strings.Count(q.text, " ")+1 < shortSentence && !strings.ContainsFunc(q.text, isWide) {
			q.score *= shortPenalty
		}
		if strings.HasSuffix(q.text, "?") || strings.HasSuffix(q.text, "？") {
			q.score *= questionFactor
		}
		if foreign := languageOfHit(hits[q.hit]); l != unknown && foreign != unknown && foreign != l {
			q.score *= foreignFactor
		}
		q.score += 0.02 / float64(1+q.hit+q.order) // between equals, the earlier
	}
}

// isWide reports letters of scripts that are written without blanks.
func isWide(r rune) bool { return r >= 0x0e00 && r < 0x0f00 || r >= 0x2e80 }

// pick takes the best quotes that are close to the very best and do not repeat each other.
func pick(byScore []quoteOf) []quoteOf {
	var chosen []quoteOf
	runes := 0
	for _, q := range byScore {
		if len(chosen) == maxQuotes || q.own == 0 || q.score < closeEnough*byScore[0].score {
			break
		}
		size := utf8.RuneCountInString(q.text)
		repeats := slices.ContainsFunc(chosen, func(other quoteOf) bool { return alike(q.terms, other.terms) > tooAlike })
		if repeats || len(chosen) > 0 && runes+size > maxTotalRunes {
			continue
		}
		chosen = append(chosen, q)
		runes += size
	}
	return chosen
}

// alike is the share of terms that two quotes have in common.
func alike(x, y map[string]bool) float64 {
	common := 0
	for term := range x {
		if y[term] {
			common++
		}
	}
	return float64(common) / float64(max(1, len(x)+len(y)-common))
}

// withNext gives a lone quote company: what follows it in its passage, else what precedes it, since that mostly goes on
// about the matter.
func withNext(chosen, all []quoteOf) []quoteOf {
	if len(chosen) != 1 {
		return chosen
	}
	at := slices.IndexFunc(all, func(q quoteOf) bool { return q.hit == chosen[0].hit && q.order == chosen[0].order })
	for _, i := range []int{at + 1, at - 1} {
		if i >= 0 && i < len(all) && all[i].hit == chosen[0].hit && !strings.HasSuffix(all[i].text, "?") {
			return append(chosen, all[i])
		}
	}
	return chosen
}

// opening is the beginning of the best passage.
func opening(all []quoteOf) []quoteOf {
	n := 0
	for n < len(all) && n < minQuotes && all[n].hit == all[0].hit {
		n++
	}
	return slices.Clone(all[:n])
}
