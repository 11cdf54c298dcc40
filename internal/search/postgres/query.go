package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Query runs a statement in the search's own transaction, so that it sees the
// moment that the search sees, with the row-level security set to the workspace.
func (s *Source) Query(ctx context.Context, read func(pgx.Rows) error, sql string, arguments ...any) error {
	return s.ask(ctx, func(b *pgx.Batch) { b.Queue(sql, arguments...).Query(read) })
}

// Collection is the collection that the source is of.
func (s *Source) Collection() uuid.UUID { return s.collection }
