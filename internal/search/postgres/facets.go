package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// The kinds of rows that magpie_facets returns, other than the values of facets.
const (
	rowAll     = -1                       // all documents
	rowRange   = int(rank.FacetCount)     // a range; the value is its place, from 1
	rowUndated = int(rank.FacetCount) + 1 // documents without a time
)

// Facets implements rank.Source.
func (s *Source) Facets(ctx context.Context, r *rank.FacetRequest) (*rank.FacetCounts, error) {
	facets := make([]int32, len(r.Facets))
	for i, f := range r.Facets {
		facets[i] = int32(f)
	}
	from, until := make([]*time.Time, len(r.Ranges)), make([]*time.Time, len(r.Ranges))
	for i := range r.Ranges {
		from[i], until[i] = bound(r.Ranges[i].From), bound(r.Ranges[i].Until)
	}
	out := rank.NewFacetCounts(r)
	err := s.query(ctx, func(b *pgx.Batch) {
		b.Queue("select facet, value, documents from magpie_facets($1, $2, $3, $4, $5, $6, $7)",
			s.workspace, s.collection, s.filter, documentsOf(r.Passages), facets, from, until).
			Query(func(rows pgx.Rows) error {
				var facet, n int
				var value string
				_, err := pgx.ForEachRow(rows, []any{&facet, &value, &n}, func() error { return addRow(out, facet, value, n) })
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("count facets: %w", err)
	}
	return out, nil
}

// addRow adds a row of magpie_facets to the counts.
func addRow(out *rank.FacetCounts, facet int, value string, n int) error {
	switch {
	case facet == rowAll:
		out.Documents = n
	case facet == rowUndated:
		out.Undated = n
	case facet == rowRange:
		place, err := strconv.Atoi(value)
		if err != nil || place < 1 || place > len(out.Ranges) {
			return errRow
		}
		out.Ranges[place-1] = n
	case facet >= 0 && facet < len(out.Values) && out.Values[facet] != nil:
		out.Values[facet][value] = n
	default:
		return errRow
	}
	return nil
}

// documentsOf returns the documents of passages, each once; nil for nil.
func documentsOf(passages []rank.Candidate) []uuid.UUID {
	if passages == nil {
		return nil
	}
	documents := make([]uuid.UUID, 0, len(passages))
	seen := make(map[uuid.UUID]bool, len(passages))
	for i := range passages {
		if id := passages[i].Document; !seen[id] {
			seen[id] = true
			documents = append(documents, id)
		}
	}
	return documents
}

func bound(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
