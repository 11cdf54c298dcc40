package index

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"magpie/internal/apierr"
	"magpie/internal/viewer"
)

const refreshDocument = `update documents set
	path = coalesce($2, path), url = coalesce($3, url), source_version = $4,
	source_created_at = coalesce($5, source_created_at), source_updated_at = coalesce($6, source_updated_at),
	processed_at = coalesce($7, now()), updated_at = now(), status = 'INDEXED', failure = null, deleted_at = null
	where id = $1`

// Refresh notes that an item's content is still the stored one: source version,
// path, address, times and ledger row move, text and passages stay. A deleted
// document whose content is back comes back. Of the record the content fields
// are not read. It fails like Put, and with an apierr not found when nothing
// has been indexed for the item yet.
func (s *Store) Refresh(ctx context.Context, scope viewer.Scope, f Fence, r *Record) error {
	workspace, err := writable(scope, r)
	if err != nil {
		return err
	}
	same := *r
	same.Passages, same.Vectors = nil, nil
	if err := same.check(); err != nil {
		return fmt.Errorf("refresh a document: %w", err)
	}
	return s.write(ctx, func(conn *pgx.Conn) error {
		old, err := hold(ctx, conn, workspace, f, r)
		if err != nil {
			return err
		}
		if !old.indexed {
			return apierr.NotFound("Document")
		}
		b := &pgx.Batch{}
		b.Queue(refreshDocument, old.id, optional(r.Path, maxPath), optional(r.URL, maxURL),
			cut(r.SourceVersion, maxSourceVersion), known(r.CreatedAt), known(r.UpdatedAt), known(r.ProcessedAt))
		queueLedger(b, workspace, r, old.id, statusUnchanged, false)
		if old.live {
			queueFence(b, workspace, f)
			b.Queue("commit")
		} else {
			queueEnd(b, workspace, f, r.Collection, delta{documents: 1, passages: old.passages, bytes: old.bytes, words: old.words})
		}
		return run(ctx, conn, b, "refresh a document")
	})
}
