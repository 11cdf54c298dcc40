package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Query runs a query in the transaction of the search: with its snapshot of the
// database, and with row-level security set to the workspace.
func (s *Source) Query(ctx context.Context, read func(pgx.Rows) error, sql string, arguments ...any) error {
	return s.query(ctx, func(b *pgx.Batch) { b.Queue(sql, arguments...).Query(read) })
}

// Collection returns the collection of the source.
func (s *Source) Collection() uuid.UUID { return s.collection }

// Change returns the collection's change number in the transaction; 0 before the first
// query.
func (s *Source) Change() int64 { return s.state.change }
