package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"magpie/internal/search/rank"
)

// Facets implements rank.Source.
func (s *Source) Facets(ctx context.Context, passages []rank.Candidate) (rank.Facets, error) {
	var documents []uuid.UUID
	if passages != nil {
		documents = make([]uuid.UUID, 0, len(passages))
		seen := make(map[uuid.UUID]bool, len(passages))
		for i := range passages {
			if id := passages[i].Document; !seen[id] {
				seen[id] = true
				documents = append(documents, id)
			}
		}
	}
	var out rank.Facets
	for i := range out {
		out[i] = make(map[string]int)
	}
	err := s.ask(ctx, func(b *pgx.Batch) {
		b.Queue("select facet, value, documents from magpie_facets($1, $2, $3, $4)", s.workspace, s.collection, s.filter, documents).
			Query(func(rows pgx.Rows) error {
				var facet, n int
				var value string
				_, err := pgx.ForEachRow(rows, []any{&facet, &value, &n}, func() error {
					if facet < 0 || facet >= len(out) {
						return errRow
					}
					out[facet][value] = n
					return nil
				})
				return err
			})
	})
	if err != nil {
		return rank.Facets{}, fmt.Errorf("count documents by their fields: %w", err)
	}
	return out, nil
}
