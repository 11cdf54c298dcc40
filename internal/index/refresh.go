package index

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

const refreshDocument = `update documents set
	path = coalesce($2, path), url = coalesce($3, url), source_version = $4,
	source_created_at = coalesce($5, source_created_at), source_updated_at = coalesce($6, source_updated_at),
	processed_at = coalesce($7, now()), updated_at = now(), status = 'INDEXED', failure = null, deleted_at = null
	where id = $1`

// Refresh notes that an item's content is still the stored one: source version,
// path, address, times and ledger row move, text, passages and readers stay. A deleted
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
		c := change{documents: []uuid.UUID{old.id}, required: f.Job == uuid.Nil}
		switch {
		case !old.live:
			c.delta = delta{documents: 1, passages: old.passages, bytes: old.bytes, words: old.words}
			queueEnd(b, workspace, f, r.Collection, c)
		case !sameTime(old, r), r.URL != "" && old.url != cut(r.URL, maxURL), old.failed:
			queueEnd(b, workspace, f, r.Collection, c)
		default: // nothing that anybody can tell
			queueFence(b, workspace, f)
			b.Queue("commit")
		}
		return run(ctx, conn, b, "refresh a document")
	})
}

// sameTime tells that a refresh leaves the document's Entry.Time as it is.
func sameTime(old stored, r *Record) bool {
	at := func(t time.Time, kept *time.Time) time.Time {
		switch {
		case !t.IsZero():
			return t.Truncate(time.Microsecond) // as the database keeps it
		case kept != nil:
			return *kept
		default:
			return time.Time{}
		}
	}
	before, after := at(time.Time{}, old.updated), at(r.UpdatedAt, old.updated)
	if before.IsZero() {
		before = at(time.Time{}, old.created)
	}
	if after.IsZero() {
		after = at(r.CreatedAt, old.created)
	}
	return before.Equal(after)
}
