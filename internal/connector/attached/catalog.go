package attached

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrFenced says that another attempt holds the job that writes a schema.
var ErrFenced = errors.New("the sync job is not held any more")

// Fence is the attempt at a sync job that writes a schema.
type Fence struct {
	Job     uuid.UUID
	Attempt int
}

// Counts are the results of a schema sync in tables.
type Counts struct{ Added, Modified, Deleted, Unchanged int }

// Catalog stores the schemas of attached databases. It is safe for concurrent use.
type Catalog struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// NewCatalog returns a Catalog that uses the application's pool.
func NewCatalog(pool *pgxpool.Pool, now func() time.Time) *Catalog {
	return &Catalog{pool: pool, now: now}
}

type tableKey struct{ schema, name string }

// Replace stores the tables of a connector's database in the place of the old ones
// and counts the differences. A table whose row estimate or samples alone have changed
// counts as unchanged. The error may be ErrFenced.
func (c *Catalog) Replace(ctx context.Context, scope viewer.Scope, f Fence, connector uuid.UUID, tables []connectors.Table) (Counts, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return Counts{}, fmt.Errorf("store a schema: %w", err)
	}
	var counts Counts
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) (err error) {
		counts, err = c.replace(ctx, tx, workspace, f, connector, tables)
		return err
	})
	if err != nil {
		return Counts{}, fmt.Errorf("store a schema: %w", err)
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
		return counts, fmt.Errorf("read the job: %w", err)
	}
	now := c.now()
	if _, err := tx.Exec(ctx, `insert into database_schemas as s (workspace_id, connector_id, synced_at) values ($1, $2, $3)
		on conflict (connector_id) do update set synced_at = excluded.synced_at, revision = s.revision + 1`, workspace, connector, now); err != nil {
		return counts, fmt.Errorf("record the sync: %w", err)
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
		old, exists := known[key]
		delete(known, key)
		switch {
		case exists && bytes.Equal(old, row.digest):
			counts.Unchanged++
			batch.Queue("update database_tables set row_estimate = $4, columns = $5 where connector_id = $1 and schema_name = $2 and name = $3 and (row_estimate, columns) <> ($4, $5)",
				connector, t.Schema, t.Name, t.Rows, row.columns)
			continue
		case exists:
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

type encodedTable struct{ columns, primary, foreign, digest []byte }

// encode returns the parts of a table as JSON, and a digest that leaves out the row
// estimate and the samples.
func encode(t connectors.Table) (out encodedTable, err error) {
	var described []byte // the columns without samples
	for _, part := range []struct {
		value any
		into  *[]byte
	}{{nonNil(t.Columns), &out.columns}, {nonNil(withoutSamples(t.Columns)), &described}, {nonNil(t.PrimaryKey), &out.primary}, {nonNil(t.ForeignKeys), &out.foreign}} {
		if *part.into, err = json.Marshal(part.value); err != nil {
			return out, fmt.Errorf("encode a table: %w", err)
		}
		// PostgreSQL's JSON cannot store NUL.
		*part.into = bytes.ReplaceAll(*part.into, []byte(`\u0000`), nil)
	}
	sum := sha256.New()
	for _, part := range [][]byte{described, out.primary, out.foreign, fmt.Appendf(nil, "%t %s", t.View, t.Comment)} {
		_, _ = fmt.Fprintf(sum, "%d:", len(part))
		sum.Write(part)
	}
	out.digest = sum.Sum(nil)
	return out, nil
}

// withoutSamples returns a copy of columns without their samples.
func withoutSamples(columns []connectors.Column) []connectors.Column {
	out := slices.Clone(columns)
	for i := range out {
		out[i].Samples = nil
	}
	return out
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// revisions returns the revision of each connector's schema. A schema that was
// never read has none.
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

// stored is what the catalog has of a database.
type stored struct {
	syncedAt time.Time
	tables   int
}

// stored returns what the catalog has of each database. A schema that was never read
// has none.
func (c *Catalog) stored(ctx context.Context, workspace uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]stored, error) {
	rows, err := c.pool.Query(ctx, `select s.connector_id, s.synced_at, (select count(*) from database_tables t where t.connector_id = s.connector_id)
		from database_schemas s where s.workspace_id = $1 and s.connector_id = any ($2)`, workspace, ids)
	if err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	out := map[uuid.UUID]stored{}
	var id uuid.UUID
	var s stored
	if _, err := pgx.ForEachRow(rows, []any{&id, &s.syncedAt, &s.tables}, func() error { out[id] = s; return nil }); err != nil {
		return nil, fmt.Errorf("read the schemas: %w", err)
	}
	return out, nil
}

// tables returns the tables of a connector in the order of their names.
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
