package index

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// PurgeDeleted ends up to limit documents of one workspace, whichever has some,
// that were deleted softly before a time: they cannot be restored any more. Their
// lines in the ledger go with them, except for those that keep the item from
// coming back. It says how many documents it took, none when there are no more.
func (s *Store) PurgeDeleted(ctx context.Context, before time.Time, limit int) (int, error) {
	const what = "purge deleted documents"
	var workspace uuid.UUID
	err := s.pool.QueryRow(ctx, "select workspace_id from documents where deleted_at < $1 order by deleted_at limit 1", before).Scan(&workspace)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("%s: %w", what, readable(err))
	}
	scope, err := viewer.System(workspace).Scope()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if workspace, err = scope.Workspace(); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	taken := 0
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		// A document that is being restored is locked and is passed over.
		b.Queue(`with old as materialized (
				select id from documents where workspace_id = $1 and deleted_at < $2 order by deleted_at limit $3 for update skip locked
			), lines as (
				delete from sync_items i using old where i.document_id = old.id and i.status = 'DELETED' and not i.suppressed
			), gone as (
				delete from documents using old where documents.id = old.id returning documents.id
			)
			select count(*) from gone`, workspace, before, limit).
			QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
		b.Queue("commit")
		return run(ctx, conn, b, what)
	})
	return taken, err
}
