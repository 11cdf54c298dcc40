package index

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Both statements lock the rows in the order of their ids, change them and,
// under a fence, their lines in the ledger, and answer with what was changed.
// What somebody restored by hand is no job's to delete, and an approved deletion
// deletes what is in quarantine still.
const (
	softDelete = `with d as materialized (
			select d.id, d.connector_id, d.source_id, d.path, d.collection_id, d.passage_count, d.index_bytes, d.index_words, ` + live + ` as live
			from documents d
			where d.id = any($1) and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null
				and ($5::uuid is null or not exists (
					select from sync_items h where h.connector_id = d.connector_id and h.source_id = d.source_id and h.hold = 'RESTORED'))
				and (not exists (select from sync_jobs j where j.id = $5::uuid and j.mode = 'DELETE') or exists (
					select from sync_items h where h.connector_id = d.connector_id and h.source_id = d.source_id and h.hold = 'QUARANTINED'))
			order by d.id for no key update
		), changed as (
			update documents set status = 'DELETED', deleted_at = now(), updated_at = now()
			from d where documents.id = d.id
		), noted as (
			insert into sync_items (id, created_at, updated_at, workspace_id, connector_id, job_id, document_id, source_id, path, status,
				added, retryable, source_version, pipeline_version)
			select w.item, now(), now(), $2, d.connector_id, $5::uuid, d.id, d.source_id, d.path, 'DELETED', false, false, '', 0
			from d join unnest($1::uuid[], $6::uuid[]) w (id, item) on w.id = d.id
			where $5::uuid is not null
			order by d.source_id
			on conflict (connector_id, source_id) do update set
				updated_at = now(), job_id = excluded.job_id, document_id = excluded.document_id, path = excluded.path, status = 'DELETED',
				added = false, reason = null, retryable = false, source_version = '', pipeline_version = 0, hold = null, waiting_since = null
		)
		select id, collection_id, case when live then 1 else 0 end, case when live then passage_count else 0 end,
			case when live then index_bytes else 0 end, case when live then index_words else 0 end
		from d`

	restore = `with d as materialized (
			select d.id, d.connector_id, d.source_id, d.collection_id, d.passage_count, d.index_bytes, d.index_words
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
			from d where sync_items.connector_id = d.connector_id and sync_items.source_id = d.source_id
		)
		select id, collection_id, 1, passage_count, index_bytes, index_words from d where $6::uuid[] is not null`
)

// Both add to the counters of a job that is held and still runs; no row says
// that it is not.
const (
	countDeleted = `update sync_jobs set deleted = deleted + $4, revision = revision + 1, updated_at = now()
		where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'`

	countRestored = `update sync_jobs set collected = collected + $4, indexed = indexed + $4, added = added + $4, revision = revision + 1,
			updated_at = now()
		where id = $1 and attempt = $2 and workspace_id = $3 and status = 'RUNNING'`
)

// Tx is a transaction of database/sql that somebody else opened and ends.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// SoftDelete takes documents out of every search and count and says how many it
// was; ids that are out of reach, unknown or deleted already are passed over.
// Text and vectors are kept, so that Restore is immediate. Under a fence the
// documents' lines in the ledger become deleted ones of that job and its row
// counts them, all in one transaction; documents that were restored by hand are
// passed over. ErrFenced then also says that the job does not run.
func (s *Store) SoftDelete(ctx context.Context, scope viewer.Scope, f Fence, documents []uuid.UUID) (int, error) {
	return s.mark(ctx, scope, f, documents, deletion())
}

// Restore brings soft-deleted documents back to search and says how many it
// was. Ids that are out of reach, not deleted, or were never indexed are passed
// over. In the ledger they are held until their source has them again; under a
// fence they become added ones of that job, whose row counts them in the same
// transaction. ErrFenced then also says that the job does not run.
func (s *Store) Restore(ctx context.Context, scope viewer.Scope, f Fence, documents []uuid.UUID) (int, error) {
	return s.mark(ctx, scope, f, documents, restoration())
}

// SoftDeleteIn is SoftDelete without a fence as a part of tx. The ledger is the
// caller's to write, in the same transaction.
func (s *Store) SoftDeleteIn(ctx context.Context, tx Tx, scope viewer.Scope, documents []uuid.UUID) (int, error) {
	return markIn(ctx, tx, scope, documents, deletion())
}

// RestoreIn is Restore without a fence as a part of tx.
func (s *Store) RestoreIn(ctx context.Context, tx Tx, scope viewer.Scope, documents []uuid.UUID) (int, error) {
	return markIn(ctx, tx, scope, documents, restoration())
}

// marking is one of the two ways to change whether documents are deleted.
type marking struct {
	what, sql, count string
	sign             int64
}

func deletion() marking { return marking{"delete documents", softDelete, countDeleted, -1} }

func restoration() marking { return marking{"restore documents", restore, countRestored, 1} }

// arguments are those of the statement; each document has an id at hand for a
// new line in the ledger.
func (m marking) arguments(within reach, f Fence, documents []uuid.UUID) []any {
	var job *uuid.UUID
	lines := []uuid.UUID{}
	if f.Job != uuid.Nil {
		job, lines = &f.Job, make([]uuid.UUID, len(documents))
		for i := range lines {
			lines[i] = gid.New(gid.SyncItem)
		}
	}
	return []any{documents, within.workspace, within.all, within.collections, job, lines}
}

// marked is what a statement has done, by collection.
type marked struct {
	count   int
	changes map[uuid.UUID]*change
}

func (m *marked) add(document, collection uuid.UUID, d delta, sign int64) {
	c := m.changes[collection]
	if c == nil {
		c = &change{required: true}
		m.changes[collection] = c
	}
	c.documents = append(c.documents, document)
	c.delta.documents += sign * d.documents
	c.passages += sign * d.passages
	c.bytes += sign * d.bytes
	c.words += sign * d.words
	m.count++
}

// order is that in which the rows of the collections are locked.
func (m *marked) order() []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m.changes), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}

func newMarked() *marked { return &marked{changes: map[uuid.UUID]*change{}} }

// unique leaves out repetitions, for which there would be two lines.
func unique(documents []uuid.UUID) []uuid.UUID {
	out := slices.Clone(documents)
	slices.SortFunc(out, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(out)
}

func (s *Store) mark(ctx context.Context, scope viewer.Scope, f Fence, documents []uuid.UUID, m marking) (int, error) {
	within, err := reachOf(scope)
	if err != nil || len(documents) == 0 {
		return 0, err
	}
	args := m.arguments(within, f, unique(documents))
	var done *marked
	err = s.write(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		beginWrite(b, within.workspace)
		done = newMarked()
		b.Queue(m.sql, args...).Query(func(rows pgx.Rows) error {
			var document, collection uuid.UUID
			var d delta
			_, err := pgx.ForEachRow(rows, []any{&document, &collection, &d.documents, &d.passages, &d.bytes, &d.words}, func() error {
				done.add(document, collection, d, m.sign)
				return nil
			})
			return err
		})
		if err := run(ctx, conn, b, m.what); err != nil {
			return err
		}
		if f.Job != uuid.Nil {
			switch tag, err := conn.Exec(ctx, m.count, f.Job, f.Attempt, within.workspace, done.count); {
			case err != nil:
				return fmt.Errorf("count for the job: %w", err)
			case tag.RowsAffected() == 0:
				return ErrFenced
			}
		}
		end := &pgx.Batch{}
		for _, id := range done.order() {
			queueState(end, within.workspace, id, *done.changes[id])
		}
		end.Queue("commit")
		return run(ctx, conn, end, m.what)
	})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.what, err)
	}
	return done.count, nil
}

func markIn(ctx context.Context, tx Tx, scope viewer.Scope, documents []uuid.UUID, m marking) (int, error) {
	within, err := reachOf(scope)
	if err != nil || len(documents) == 0 {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, "select set_config('magpie.workspace', $1, true)", within.workspace.String()); err != nil {
		return 0, fmt.Errorf("%s: %w", m.what, readable(err))
	}
	done, err := markedIn(ctx, tx, m, m.arguments(within, Fence{}, unique(documents)))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", m.what, readable(err))
	}
	for _, id := range done.order() {
		if _, err := tx.ExecContext(ctx, upsertState, stateArguments(within.workspace, id, *done.changes[id])...); err != nil {
			return 0, fmt.Errorf("%s: %w", m.what, readable(err))
		}
	}
	return done.count, nil
}

func markedIn(ctx context.Context, tx Tx, m marking, args []any) (*marked, error) {
	rows, err := tx.QueryContext(ctx, m.sql, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	done := newMarked()
	for rows.Next() {
		var document, collection uuid.UUID
		var d delta
		if err := rows.Scan(&document, &collection, &d.documents, &d.passages, &d.bytes, &d.words); err != nil {
			return nil, err
		}
		done.add(document, collection, d, m.sign)
	}
	return done, rows.Err()
}
