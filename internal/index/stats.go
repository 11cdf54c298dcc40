package index

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Stats counts what searches of a collection can find.
type Stats struct {
	Documents    int   // indexed and not deleted
	Embeddings   int   // passages, each of which has one vector
	StorageBytes int64 // text, whole and in passages, and vectors
	// ChangeNumber rises with every committed change of what can be found.
	ChangeNumber int64
}

// Stats returns the counters of many collections in one statement. Collections
// that are empty, unknown or out of reach have zero counters or are missing.
func (s *Store) Stats(ctx context.Context, scope viewer.Scope, collections []uuid.UUID) (map[uuid.UUID]Stats, error) {
	within, err := reachOf(scope)
	if err != nil {
		return nil, err
	}
	// What belongs to a connector that is being deleted does not count any more.
	rows, err := s.pool.Query(ctx, `select s.collection_id, s.documents - coalesce(d.documents, 0), s.passages - coalesce(d.passages, 0)::bigint,
			s.bytes - coalesce(d.bytes, 0)::bigint, s.change_number
		from collection_state s left join (
			select k.collection_id, count(*) as documents, sum(d.passage_count) as passages, sum(d.index_bytes) as bytes
			from connectors k join documents d on d.connector_id = k.id
			where k.deleting_at is not null and k.workspace_id = $2 and k.collection_id = any($1) and `+live+`
			group by k.collection_id
		) d on d.collection_id = s.collection_id
		where s.collection_id = any($1) and s.workspace_id = $2 and ($3 or s.collection_id = any($4))`,
		collections, within.workspace, within.all, within.collections)
	if err != nil {
		return nil, fmt.Errorf("read the statistics: %w", readable(err))
	}
	found := make(map[uuid.UUID]Stats, len(collections))
	var id uuid.UUID
	var v Stats
	_, err = pgx.ForEachRow(rows, []any{&id, &v.Documents, &v.Embeddings, &v.StorageBytes, &v.ChangeNumber}, func() error {
		found[id] = v
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the statistics: %w", readable(err))
	}
	return found, nil
}

// Recount counts a collection anew from its rows and keeps the result. Writes
// that are under way add their own change afterwards. A collection that is
// unknown has zero counters.
func (s *Store) Recount(ctx context.Context, scope viewer.Scope, collection uuid.UUID) (Stats, error) {
	narrow, err := scope.Narrow(collection)
	if err != nil {
		return Stats{}, fmt.Errorf("recount a collection: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return Stats{}, fmt.Errorf("recount a collection: %w", err)
	}
	var v Stats
	err = s.write(ctx, func(conn *pgx.Conn) error {
		v = Stats{}
		b := &pgx.Batch{}
		beginWrite(b, workspace)
		b.Queue(`insert into collection_state (collection_id, workspace_id, model)
			select id, workspace_id, embedding_model from collections where id = $1 and workspace_id = $2
			on conflict (collection_id) do nothing`, collection, workspace)
		// The counts must be those of a snapshot taken under the lock: writers
		// update this row last, so the ones that are not seen come after it.
		b.Queue("select from collection_state where collection_id = $1 and workspace_id = $2 for update", collection, workspace)
		b.Queue(`update collection_state s set change_number = change_number + 1, required_number = change_number + 1,
				documents = c.documents, passages = c.passages, bytes = c.bytes, words = c.words
			from (
				select count(*) as documents, coalesce(sum(d.index_bytes), 0) as bytes, coalesce(sum(d.index_words), 0) as words,
					coalesce(sum((select count(*) from passages p where p.collection_id = $1 and p.document_id = d.id)), 0) as passages
				from documents d where d.collection_id = $1 and d.workspace_id = $2 and `+live+`
			) c
			where s.collection_id = $1 and s.workspace_id = $2
			returning s.documents, s.passages, s.bytes, s.change_number`, collection, workspace).
			Query(func(rows pgx.Rows) error {
				_, err := pgx.ForEachRow(rows, []any{&v.Documents, &v.Embeddings, &v.StorageBytes, &v.ChangeNumber},
					func() error { return nil })
				return err
			})
		b.Queue("commit")
		return run(ctx, conn, b, "recount a collection")
	})
	return v, err
}
