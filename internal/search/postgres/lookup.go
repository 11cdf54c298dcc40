package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// walkUpTo is how many entries of the index of lexemes may be walked for two
// words that stand together, in look-ups of the budget. An entry costs a
// fraction of what a passage costs.
const walkUpTo = 3

// together is how much likelier two words of a question are to stand in one
// passage than words that have nothing to do with each other.
const together = 4

// lookUp writes the query over lexemes by which passages are looked up: "" for
// none. The rarest words are taken until the budget is spent; what is left of it
// goes to passages that have two of the commoner ones. Where next to nothing fits
// the budget, passages with as many of the other words as it takes are looked up,
// too.
func (s *Source) lookUp(words []rank.Word, budget int) string {
	order := make([]int, 0, len(words))
	cost := make([]float64, len(words))
	for i := range words {
		for _, term := range words[i].Terms {
			cost[i] += float64(s.counts[term])
		}
		if cost[i] > 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return ""
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost[a], cost[b]) })
	left := float64(budget)
	var parts []string
	for len(order) > 0 && cost[order[0]] <= left {
		word := words[order[0]]
		left -= cost[order[0]]
		parts = append(parts, "("+anyOf(word.Terms)+")")
		order = order[1:]
	}
	passages := float64(max(s.state.passages, 1))
	for n, i := range order {
		if cost[i] > walkUpTo*float64(budget) {
			break
		}
		for _, j := range order[n+1:] {
			if both := min(together*cost[i]*cost[j]/passages, cost[i]); both <= left {
				left -= both
				parts = append(parts, "(("+anyOf(words[i].Terms)+") & ("+anyOf(words[j].Terms)+"))")
			}
		}
	}
	// A few passages of one rare word are no answer to a question of many.
	if len(order) > 0 && left > 0.9*float64(budget) {
		parts = append(parts, "("+allOf(words, order, cost, passages, left)+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " | ")
}

// allOf asks for passages that have as many of the rarest words as bring their
// number down to the budget.
func allOf(words []rank.Word, order []int, cost []float64, passages, budget float64) string {
	left := cost[order[0]]
	parts := []string{"(" + anyOf(words[order[0]].Terms) + ")"}
	for _, i := range order[1:] {
		if left <= budget {
			break
		}
		left *= min(0.5, together*cost[i]/passages)
		parts = append(parts, "("+anyOf(words[i].Terms)+")")
	}
	return strings.Join(parts, " & ")
}

// lookUpPhrases writes the query for the phrases that every passage must have,
// where they are rare enough to be looked up whatever else is asked: "" where
// there are none, or too many passages may have them.
func (s *Source) lookUpPhrases(ctx context.Context, budget int) (string, error) {
	rarest := -1
	for _, p := range s.phrases {
		for _, terms := range p {
			if err := s.count(ctx, terms); err != nil {
				return "", err
			}
			n := 0
			for _, t := range terms {
				n += s.counts[t]
			}
			if len(p) > 1 {
				n /= together // words do not always stand in a row
			}
			if rarest < 0 || n < rarest {
				rarest = n
			}
		}
	}
	if rarest < 0 || rarest > budget {
		return "", nil
	}
	return phrases(s.phrases, " & "), nil
}
