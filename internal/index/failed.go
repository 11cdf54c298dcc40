package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// keptBack are the readers of what could not be read, for connectors that keep to
// the permissions of their source: nobody.
const keptBack = `(select case when k.config->>'include_permissions' = 'true' and coalesce(k.config->>'permission_mode', 'strict') <> 'permissive'
			then '{}'::text[] end from connectors k where k.id = $3)`

// A version that is there stays searchable and learns why it is not the newest;
// a document that was deleted stays so. Only what was never indexed has failed.
const failDocument = `with noted as (
		update documents set failure = $12, updated_at = now()
		where connector_id = $3 and source_id = $5 and workspace_id = $2 and status = 'INDEXED' and failure is distinct from $12
		returning id
	), made as (
		insert into documents (id, workspace_id, connector_id, collection_id, source_id, path, title, url,
			source_created_at, source_updated_at, bytes, failure, tags, processed_at, created_at, updated_at, status, readers)
		select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '[]', coalesce($13, now()), now(), now(), 'FAILED', ` + keptBack + `
		where not exists (select from noted)
		on conflict (connector_id, source_id) do update set path = excluded.path, title = excluded.title, url = excluded.url,
			source_created_at = excluded.source_created_at, source_updated_at = excluded.source_updated_at, bytes = excluded.bytes,
			failure = excluded.failure, processed_at = excluded.processed_at, updated_at = now(), status = 'FAILED', deleted_at = null
			where documents.indexed_at is null
		returning id
	)
	select id, true from noted union all select id, true from made
	union all select id, false from documents where connector_id = $3 and source_id = $5 and workspace_id = $2
	limit 1`

// Fail notes that an item could not be indexed, and why. An item without a
// document gets one with the status failed, which no search and no count knows;
// one that is indexed keeps its old version and shows the reason. Of the record
// only what the source says of the item is read. It returns the document.
func (s *Store) Fail(ctx context.Context, scope viewer.Scope, f Fence, r *Record, reason string) (document uuid.UUID, err error) {
	const what = "note a failed document"
	workspace, err := writable(scope, r)
	if err != nil {
		return uuid.Nil, err
	}
	bare := *r
	bare.Passages, bare.Vectors = nil, nil
	if err := bare.check(); err != nil {
		return uuid.Nil, fmt.Errorf("%s: %w", what, err)
	}
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		changed := false
		beginWrite(b, workspace)
		b.Queue(failDocument, gid.New(gid.Document), workspace, r.Connector, r.Collection, clean(r.SourceID), cut(r.Path, maxPath), r.title(),
			optional(r.URL, maxURL), known(r.CreatedAt), known(r.UpdatedAt), max(r.Bytes, 0), cut(reason, maxReason), known(r.ProcessedAt)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&document, &changed) })
		if err := run(ctx, conn, b, what); err != nil {
			return err
		}
		end := &pgx.Batch{}
		if changed {
			queueEnd(end, workspace, f, r.Collection, change{documents: []uuid.UUID{document}, required: f.Job == uuid.Nil})
		} else {
			queueFence(end, workspace, f)
			end.Queue("commit")
		}
		return run(ctx, conn, end, what)
	})
	if errors.Is(err, pgx.ErrNoRows) { // somebody else made it at the same moment
		return uuid.Nil, nil
	}
	return document, err
}

// Forget drops documents with the status failed that were never indexed, and
// says how many it was. Others are passed over.
func (s *Store) Forget(ctx context.Context, scope viewer.Scope, documents []uuid.UUID) (n int, err error) {
	const what = "forget failed documents"
	within, err := reachOf(scope)
	if err != nil || len(documents) == 0 {
		return 0, err
	}
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		n = 0
		gone := map[uuid.UUID][]uuid.UUID{} // by collection
		beginWrite(b, within.workspace)
		b.Queue(`delete from documents where id = any($1) and workspace_id = $2 and ($3 or collection_id = any($4))
				and status = 'FAILED' and indexed_at is null
				returning id, collection_id`, documents, within.workspace, within.all, within.collections).
			Query(func(rows pgx.Rows) error {
				var id, collection uuid.UUID
				_, err := pgx.ForEachRow(rows, []any{&id, &collection}, func() error {
					gone[collection] = append(gone[collection], id)
					n++
					return nil
				})
				return err
			})
		if err := run(ctx, conn, b, what); err != nil {
			return err
		}
		end := &pgx.Batch{}
		for _, collection := range slices.SortedFunc(maps.Keys(gone), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) {
			queueState(end, within.workspace, collection, change{documents: gone[collection]})
		}
		end.Queue("commit")
		return run(ctx, conn, end, what)
	})
	return n, err
}
