package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// An answer is the number of passages that the backend and the overlay found for a query.
type answer struct {
	query *Query
	found int
}

// lacks reports whether one of the answers lacks passages that PostgreSQL knows to be
// there, whatever the reason. The document frequencies were read when the words were
// weighted.
func (s *Source) lacks(ctx context.Context, answers []answer) (bool, error) {
	for _, a := range answers {
		fewest, err := s.fewest(ctx, &a)
		if err != nil {
			return false, fmt.Errorf("check an answer of the search engine: %w", err)
		}
		if a.found < fewest {
			return true, nil
		}
	}
	return false, nil
}

// fewest returns the least number of passages that the answer can have.
func (s *Source) fewest(ctx context.Context, a *answer) (int, error) {
	q := a.query
	switch {
	case a.found >= q.Limit:
		return 0, nil
	case q.Vector == nil && selectsAll(s.filter):
		frequencies, err := s.DocumentFrequencies(ctx, q.Terms)
		if err != nil || len(frequencies) == 0 {
			return 0, err
		}
		return min(q.Limit, slices.Max(frequencies)), nil
	case a.found > 0:
		return 0, nil
	case q.Vector == nil:
		contained, err := s.Contains(ctx, q.Terms)
		return one(slices.Contains(contained, true)), err
	default:
		statistics, err := s.Statistics(ctx)
		return one(statistics.Passages > 0), err
	}
}

// passesTooMuch reports whether there may be passages beyond an answer that the filter selects,
// while it does not select all of the answer: the backend knows no positions.
func (s *Source) passesTooMuch(answers []answer) bool {
	long := func(p rank.Phrase) bool { return len(p) > 1 }
	if !slices.ContainsFunc(s.filter.Phrases, long) && !slices.ContainsFunc(s.filter.Excluded, long) {
		return false
	}
	return slices.ContainsFunc(answers, func(a answer) bool { return a.found >= a.query.Limit })
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// selectsAll reports whether a filter selects every passage.
func selectsAll(f *rank.Filter) bool {
	for _, list := range f.Values {
		if len(list) > 0 {
			return false
		}
	}
	return len(f.Documents) == 0 && f.From.IsZero() && f.Until.IsZero() && f.Readers == nil && len(f.Phrases) == 0 && len(f.Excluded) == 0
}
