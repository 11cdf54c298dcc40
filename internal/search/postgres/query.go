package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/index"
)

// Query runs a query in the transaction of the search: with its snapshot of the
// database, and with row-level security set to the workspace.
func (s *Source) Query(ctx context.Context, read func(pgx.Rows) error, sql string, arguments ...any) error {
	return s.query(ctx, func(b *pgx.Batch) { b.Queue(sql, arguments...).Query(read) })
}

// Position returns the collection's position in the transaction; zero before the first
// query.
func (s *Source) Position() index.Position { return s.state.Position }
