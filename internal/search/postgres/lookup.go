package postgres

import (
	"slices"
	"strings"

	"magpie/internal/index"
	"magpie/internal/search/rank"
)

// lookUp writes the query over lexemes by which passages are looked up: "" for
// none. Words whose passages have been looked up by an earlier request of the
// search are left out: those are looked at anyway. Of the others, the rarest
// are taken until the budget is spent. Where the rarest one alone is beyond it,
// passages with several of the rarest words are looked up instead.
func (s *Source) lookUp(words []rank.Word, budget int) string {
	order := make([]int, 0, len(words))
	cost := make([]int, len(words))
	for i := range words {
		if s.looked[words[i].Terms[0]] {
			continue
		}
		for _, term := range words[i].Terms {
			cost[i] += s.counts[term]
		}
		if cost[i] > 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return ""
	}
	slices.SortStableFunc(order, func(a, b int) int { return cost[a] - cost[b] })
	var terms []string
	spent := 0
	for _, i := range order {
		if spent += cost[i]; spent > budget {
			break
		}
		terms = append(terms, words[i].Terms...)
		s.looked[words[i].Terms[0]] = true
	}
	query := anyOf(terms)
	if len(terms) == 0 {
		query = s.together(words, order, cost, budget)
	}
	if query == "" {
		return ""
	}
	return s.within(query)
}

// within narrows a query over lexemes to the collection. One that has much of
// the whole index is cheaper to look up without: few rows of others come along.
func (s *Source) within(query string) string {
	if float64(s.state.passages) > s.state.all/2 && s.state.all > 0 {
		return query
	}
	var b strings.Builder
	writeLexeme(&b, index.CollectionLexeme(s.collection))
	return b.String() + " & (" + query + ")"
}

// together asks for passages that have as many of the rarest words as bring
// their number down to the budget. Words of one question go together, so that
// each further one is taken to halve the number at least, or as much as the
// root of its share.
func (s *Source) together(words []rank.Word, order, cost []int, budget int) string {
	left := float64(cost[order[0]])
	parts := []string{"(" + anyOf(words[order[0]].Terms) + ")"}
	for _, i := range order[1:] {
		if left <= float64(budget) {
			break
		}
		left *= min(0.5, float64(cost[i])/float64(max(s.state.passages, 1)))
		parts = append(parts, "("+anyOf(words[i].Terms)+")")
	}
	return strings.Join(parts, " & ")
}
