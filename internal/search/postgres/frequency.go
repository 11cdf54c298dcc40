package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const (
	// maxCounted is the largest number of passages of a term that are counted one by one.
	maxCounted = 4000

	termsQuery = "select term, passages from collection_terms where collection_id = $1 and workspace_id = $2 and term = any($3)"

	countTermsQuery = "select term, passages from magpie_frequencies($1, $2, $3, $4, $5)"
)

// DocumentFrequencies implements rank.Source. A term that was common when the
// collection's words were counted has the frequency of that time. Others are counted,
// and extrapolated from a part of the index beyond some thousand passages.
func (s *Source) DocumentFrequencies(ctx context.Context, terms []string) ([]int, error) {
	if err := s.readFrequencies(ctx, terms); err != nil {
		return nil, fmt.Errorf("count words: %w", err)
	}
	out := make([]int, len(terms))
	for i, t := range terms {
		out[i] = s.frequencies[t]
	}
	return out, nil
}

// readFrequencies reads the frequencies of the terms that were not read before.
func (s *Source) readFrequencies(ctx context.Context, terms []string) error {
	missing := s.withoutFrequency(terms)
	if len(missing) == 0 {
		return nil
	}
	if !s.begun || s.state.counted > 0 {
		err := s.query(ctx, func(b *pgx.Batch) {
			b.Queue(termsQuery, s.collection, s.workspace, missing).Query(s.scanFrequencies)
		})
		if err != nil {
			return err
		}
		missing = s.withoutFrequency(missing)
	}
	if len(missing) == 0 {
		return nil
	}
	queries := make([]string, len(missing))
	for i, t := range missing {
		queries[i] = anyOf([]string{t})
	}
	err := s.query(ctx, func(b *pgx.Batch) {
		b.Queue(countTermsQuery, s.workspace, s.collection, missing, queries, maxCounted).Query(s.scanFrequencies)
	})
	for _, t := range s.withoutFrequency(missing) {
		s.frequencies[t] = 0
	}
	return err
}

func (s *Source) withoutFrequency(terms []string) []string {
	var missing []string
	for _, t := range terms {
		if _, ok := s.frequencies[t]; !ok {
			missing = append(missing, t)
		}
	}
	return missing
}

func (s *Source) scanFrequencies(rows pgx.Rows) error {
	var term string
	var n int64
	_, err := pgx.ForEachRow(rows, []any{&term, &n}, func() error {
		s.frequencies[term] = int(min(n, max(s.state.passages, 1)))
		return nil
	})
	return err
}
