package attached

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrFenced says that the job which writes is not held any more.
var ErrFenced = errors.New("the sync job is held no longer")

// Fence names the attempt at a sync job under which a schema is written.
type Fence struct {
	Job     uuid.UUID
	Attempt int
}

// Counts say what a schema sync found.
type Counts struct{ Added, Modified, Deleted, Unchanged int }

// Catalog keeps the schemas of attached databases. It is safe for concurrent use.
type Catalog struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// NewCatalog makes a Catalog on the application's pool (internal/store).
func NewCatalog(pool *pgxpool.Pool, now func() time.Time) *Catalog {
	return &Catalog{pool: pool, now: now}
}

type tableKey struct{ schema, name string }

// Replace makes the tables of a connector's database those given, in one
// transaction, and counts the differences. A table whose rows alone were counted
// anew is unchanged. The errors are ErrFenced and those of the database.
func (c *Catalog) Replace(ctx context.Context, scope viewer.Scope, f Fence, connector uuid.UUID, tables []connectors.Table) (Counts, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return Counts{}, fmt.Errorf("keep a schema: %w", err)
	}
	var counts Counts
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) (err error) {
		counts, err = c.replace(ctx, tx, workspace, f, connector, tables)
		return err
	})
	if err != nil {
		return Counts{}, fmt.Errorf("keep a schema: %w", err)
	}
	return counts, nil
}

func (c *Catalog) replace(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, f Fence, connector uuid.UUID, tables []connectors.Table) (Counts, error) {
	var counts Counts
	var held bool
	err := tx.QueryRow(ctx, `select true from sync_jobs where id = $1 and attempt = $2 and workspace_id = $3 and connector_id = $4 and status = 'RUNNING' for share`,
		f.Job, f.Attempt, workspace, connector).Scan(&held)
	if errors.Is(err, pgx.ErrNoRows) {
		return counts, ErrFenced
	}
	if err != nil {
		return counts, fmt.Errorf("look at the job: %w", err)
	}
	now := c.now()
	if _, err := tx.Exec(ctx, `insert into database_schemas as s (workspace_id, connector_id, synced_at) values ($1, $2, $3)
		on conflict (connector_id) do update set synced_at = excluded.synced_at, revision = s.revision + 1`, workspace, connector, now); err != nil {
		return counts, fmt.Errorf("note the sync: %w", err)
	}
	known, err := digests(ctx, tx, connector)
	if err != nil {
		return counts, err
	}
	batch := &pgx.Batch{}
	for _, t := range tables {
		key := tableKey{t.Schema, t.Name}
		row, err := encode(t)
		if err != nil {
			return counts, err
		}
		was, there := known[key]
		delete(known, key)
		switch {
		case there && bytes.Equal(was, row.digest):
			counts.Unchanged++
			batch.Queue("update database_tables set row_estimate = $4 where connector_id = $1 and schema_name = $2 and name = $3 and row_estimate <> $4", connector, t.Schema, t.Name, t.Rows)
			continue
		case there:
			counts.Modified++
		default:
			counts.Added++
		}
		batch.Queue(`insert into database_tables (workspace_id, connector_id, schema_name, name, is_view, comment, row_estimate, columns, primary_key, foreign_keys, digest, changed_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
			on conflict (connector_id, schema_name, name) do update set is_view = excluded.is_view, comment = excluded.comment, row_estimate = excluded.row_estimate,
			columns = excluded.columns, primary_key = excluded.primary_key, foreign_keys = excluded.foreign_keys, digest = excluded.digest, changed_at = excluded.changed_at`,
			workspace, connector, t.Schema, t.Name, t.View, t.Comment, t.Rows, row.columns, row.primary, row.foreign, row.digest, now)
	}
	for key := range known {
		counts.Deleted++
		batch.Queue("delete from database_tables where connector_id = $1 and schema_name = $2 and name = $3", connector, key.schema, key.name)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return counts, fmt.Errorf("write the tables: %w", err)
	}
	return counts, nil
}

func digests(ctx context.Context, tx pgx.Tx, connector uuid.UUID) (map[tableKey][]byte, error) {
	rows, err := tx.Query(ctx, "select schema_name, name, digest from database_tables where connector_id = $1", connector)
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	known := map[tableKey][]byte{}
	var key tableKey
	var digest []byte
	_, err = pgx.ForEachRow(rows, []any{&key.schema, &key.name, &digest}, func() error {
		known[key] = bytes.Clone(digest)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tables: %w", err)
	}
	return known, nil
}

type encoded struct{ columns, primary, foreign, digest []byte }

// encode writes a table's parts as JSON, and the digest of all but the rows.
func encode(t connectors.Table) (out encoded, err error) {
	for _, part := range []struct {
		value any
		into  *[]byte
	}{{filled(t.Columns), &out.columns}, {filled(t.PrimaryKey), &out.primary}, {filled(t.ForeignKeys), &out.foreign}} {
		if *part.into, err = json.Marshal(part.value); err != nil {
			return out, fmt.Errorf("write a table as JSON: %w", err)
		}
		// PostgreSQL's JSON cannot hold it, and no name of a table does.
		*part.into = bytes.ReplaceAll(*part.into, []byte(`\u0000`), nil)
	}
	sum := sha256.New()
	for _, part := range [][]byte{out.columns, out.primary, out.foreign, fmt.Appendf(nil, "%t %s", t.View, t.Comment)} {
		_, _ = fmt.Fprintf(sum, "%d:", len(part))
		sum.Write(part)
	}
	out.digest = sum.Sum(nil)
	return out, nil
}

func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// revisions are the present ones of some connectors' schemas. One that was never
// read has none.
func (c *Catalog) revisions(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	rows, err := c.pool.Query(ctx, "select connector_id, revision from database_schemas where workspace_id = $1 and connector_id = any ($2)", workspace, ids)
	if err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	out := map[uuid.UUID]int64{}
	var id uuid.UUID
	var revision int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &revision}, func() error { out[id] = revision; return nil }); err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	return out, nil
}

// tables reads those of one connector, in the order of their names.
func (c *Catalog) tables(ctx context.Context, workspace, connector uuid.UUID) ([]connectors.Table, error) {
	rows, err := c.pool.Query(ctx, `select schema_name, name, is_view, comment, row_estimate, columns, primary_key, foreign_keys from database_tables
		where workspace_id = $1 and connector_id = $2 order by schema_name, name`, workspace, connector)
	if err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	tables, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t connectors.Table, err error) {
		return t, row.Scan(&t.Schema, &t.Name, &t.View, &t.Comment, &t.Rows, &t.Columns, &t.PrimaryKey, &t.ForeignKeys)
	})
	if err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	return tables, nil
}
