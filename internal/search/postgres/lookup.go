package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// maxWalk is the number of entries of the index of lexemes that may be walked for a pair
// of words, relative to the budget. An entry costs a fraction of a passage.
const maxWalk = 3

// cooccurrence is the factor by which two words of a query are likelier to occur in one
// passage than unrelated words.
const cooccurrence = 4

// wordLookup returns the tsquery that looks up passages by words, "" for none. It takes
// the rarest words until the budget is spent, then pairs of commoner words. If almost
// none of the budget can be spent so, it adds the conjunction of as many words as bring
// the number of passages below the budget.
func (s *Source) wordLookup(words []rank.Word, budget int) string {
	order := make([]int, 0, len(words))
	cost := make([]float64, len(words))
	for i := range words {
		for _, term := range words[i].Terms {
			cost[i] += float64(s.frequencies[term])
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
		if cost[i] > maxWalk*float64(budget) {
			break
		}
		for _, j := range order[n+1:] {
			if both := min(cooccurrence*cost[i]*cost[j]/passages, cost[i]); both <= left {
				left -= both
				parts = append(parts, "(("+anyOf(words[i].Terms)+") & ("+anyOf(words[j].Terms)+"))")
			}
		}
	}
	// A few passages with one rare word do not answer a query of many words.
	if len(order) > 0 && left > 0.9*float64(budget) {
		parts = append(parts, "("+conjunction(words, order, cost, passages, left)+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " | ")
}

// conjunction returns the tsquery for passages with all of the rarest words, as many as
// bring the estimated number of passages below the budget.
func conjunction(words []rank.Word, order []int, cost []float64, passages, budget float64) string {
	estimate := cost[order[0]]
	parts := []string{"(" + anyOf(words[order[0]].Terms) + ")"}
	for _, i := range order[1:] {
		if estimate <= budget {
			break
		}
		estimate *= min(0.5, cooccurrence*cost[i]/passages)
		parts = append(parts, "("+anyOf(words[i].Terms)+")")
	}
	return strings.Join(parts, " & ")
}

// phraseLookup returns the tsquery that looks up the phrases which every passage must
// have. It is "" if there are none, or if too many passages may have them.
func (s *Source) phraseLookup(ctx context.Context, budget int) (string, error) {
	rarest := -1
	for _, p := range s.phrases {
		for _, terms := range p {
			if err := s.readFrequencies(ctx, terms); err != nil {
				return "", err
			}
			n := 0
			for _, t := range terms {
				n += s.frequencies[t]
			}
			if len(p) > 1 {
				n /= cooccurrence // the words of a phrase also occur apart
			}
			if rarest < 0 || n < rarest {
				rarest = n
			}
		}
	}
	if rarest < 0 || rarest > budget {
		return "", nil
	}
	return phraseQuery(s.phrases, " & "), nil
}
