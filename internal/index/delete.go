package index

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"magpie/internal/viewer"
)

// Both statements lock the rows in the order of their ids, change them, and
// answer with what each collection lost or won.
const (
	softDelete = `with d as materialized (
			select d.id, d.collection_id, d.passage_count, d.index_bytes, d.index_words, ` + live + ` as live
			from documents d
			where d.id = any($1) and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null
			order by d.id for no key update
		), changed as (
			update documents set status = 'DELETED', deleted_at = now(), updated_at = now()
			from d where documents.id = d.id
		), noted as (
			update sync_items set status = 'DELETED', job_id = $5::uuid, updated_at = now(), reason = null, added = false,
				hold = null, waiting_since = null
			from d where sync_items.document_id = d.id and $5::uuid is not null
		)
		select collection_id, array_agg(id), count(*) filter (where live),
			coalesce(sum(passage_count) filter (where live), 0), coalesce(sum(index_bytes) filter (where live), 0),
			coalesce(sum(index_words) filter (where live), 0)
		from d group by collection_id order by collection_id`

	restore = `with d as materialized (
			select d.id, d.collection_id, d.passage_count, d.index_bytes, d.index_words
			from documents d
			where d.id = any($1) and d.workspace_id = $2 and ($3 or d.collection_id = any($4))
				and d.deleted_at is not null and d.indexed_at is not null
			order by d.id for no key update
		), changed as (
			update documents set status = 'INDEXED', deleted_at = null, updated_at = now()
			from d where documents.id = d.id
		), noted as (
			update sync_items set status = 'INDEXED', job_id = coalesce($5::uuid, job_id), updated_at = now(), reason = null,
				added = $5::uuid is not null, suppressed = false, hold = 'RESTORED', waiting_since = null
			from d where sync_items.document_id = d.id
		)
		select collection_id, array_agg(id), count(*), sum(passage_count), sum(index_bytes), sum(index_words)
		from d group by collection_id order by collection_id`
)

// SoftDelete takes documents out of every search and count and says how many it
// was; ids that are out of reach, unknown or deleted already are passed over.
// Text and vectors are kept, so that Restore is immediate. Under a fence the
// ledger rows of the documents become deleted ones of that job.
func (s *Store) SoftDelete(ctx context.Context, scope viewer.Scope, f Fence, documents []uuid.UUID) (int, error) {
	return s.mark(ctx, scope, f, "delete documents", documents, softDelete, -1)
}

// Restore brings soft-deleted documents back to search and says how many it
// was. Ids that are out of reach, not deleted, or were never indexed are passed
// over. In the ledger they are held until their source has them again; under a
// fence they become added ones of that job.
func (s *Store) Restore(ctx context.Context, scope viewer.Scope, f Fence, documents []uuid.UUID) (int, error) {
	return s.mark(ctx, scope, f, "restore documents", documents, restore, 1)
}

func (s *Store) mark(ctx context.Context, scope viewer.Scope, f Fence, what string, documents []uuid.UUID, sql string, sign int64) (int, error) {
	within, err := reachOf(scope)
	if err != nil {
		return 0, err
	}
	if len(documents) == 0 {
		return 0, nil
	}
	count := 0
	err = s.write(ctx, func(conn *pgx.Conn) error {
		var job *uuid.UUID
		if f.Job != uuid.Nil {
			job = &f.Job
		}
		args := []any{documents, within.workspace, within.all, within.collections, job}
		b := &pgx.Batch{}
		beginWrite(b, within.workspace)
		changes := map[uuid.UUID]change{}
		var order []uuid.UUID
		count = 0
		b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
			var id uuid.UUID
			var marked []uuid.UUID
			var d delta
			_, err := pgx.ForEachRow(rows, []any{&id, &marked, &d.documents, &d.passages, &d.bytes, &d.words}, func() error {
				count += len(marked)
				changes[id] = change{
					delta:     delta{sign * d.documents, sign * d.passages, sign * d.bytes, sign * d.words},
					documents: slices.Clone(marked), required: true,
				}
				order = append(order, id)
				return nil
			})
			return err
		})
		if err := run(ctx, conn, b, what); err != nil {
			return err
		}
		end := &pgx.Batch{}
		queueFence(end, within.workspace, f)
		for _, id := range order {
			queueState(end, within.workspace, id, changes[id])
		}
		end.Queue("commit")
		return run(ctx, conn, end, what)
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return count, nil
}
