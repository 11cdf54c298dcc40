package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	// countUpTo is up to how many passages of a term are counted one by one.
	countUpTo = 4000

	readTerms = "select term, passages from collection_terms where collection_id = $1 and workspace_id = $2 and term = any($3)"

	countTerms = "select term, passages from magpie_frequencies($1, $2, $3, $4, $5)"
)

// Frequencies implements rank.Source. Terms of a collection whose common words
// have been counted are as common as they were then; others are counted, beyond
// some thousand passages by the share of the index that was looked at.
func (s *Source) Frequencies(ctx context.Context, terms []string) ([]int, error) {
	if err := s.count(ctx, terms); err != nil {
		return nil, fmt.Errorf("count words: %w", err)
	}
	out := make([]int, len(terms))
	for i, t := range terms {
		out[i] = s.counts[t]
	}
	return out, nil
}

// count fills in counts for the terms that have none yet.
func (s *Source) count(ctx context.Context, terms []string) error {
	missing := s.uncounted(terms)
	if len(missing) == 0 {
		return nil
	}
	if !s.begun || s.state.counted > 0 {
		err := s.ask(ctx, func(b *pgx.Batch) {
			b.Queue(readTerms, s.collection, s.workspace, missing).Query(s.readCounts)
		})
		if err != nil {
			return err
		}
		missing = s.uncounted(missing)
	}
	if len(missing) == 0 {
		return nil
	}
	queries := make([]string, len(missing))
	for i, t := range missing {
		queries[i] = anyOf([]string{t})
	}
	err := s.ask(ctx, func(b *pgx.Batch) {
		b.Queue(countTerms, s.workspace, s.collection, missing, queries, countUpTo).Query(s.readCounts)
	})
	for _, t := range s.uncounted(missing) {
		s.counts[t] = 0
	}
	return err
}

func (s *Source) uncounted(terms []string) []string {
	var missing []string
	for _, t := range terms {
		if _, ok := s.counts[t]; !ok {
			missing = append(missing, t)
		}
	}
	return missing
}

func (s *Source) readCounts(rows pgx.Rows) error {
	var term string
	var n int64
	_, err := pgx.ForEachRow(rows, []any{&term, &n}, func() error {
		s.counts[term] = int(min(n, max(s.state.passages, 1)))
		return nil
	})
	return err
}
