package postgresql

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/connectors"
)

// A relation is a table with its OID.
type relation struct {
	OID          uint32
	Schema, Name string
}

// namesSQL lists what the login may read in the schemas $1. Partitions belong
// to their tables.
const namesSQL = `select c.oid, n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
	where n.nspname = any ($1::text[]) and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
	and pg_catalog.has_schema_privilege(n.oid, 'USAGE')
	and (pg_catalog.has_table_privilege(c.oid, 'SELECT') or pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))
	order by n.nspname collate "C", c.relname collate "C" limit 100000`

const tablesSQL = `select c.oid, c.relkind in ('v', 'm'), coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''),
	case when c.relkind = 'p' then coalesce((select case when min(k.reltuples) < 0 then -1 else sum(k.reltuples) end
			from pg_catalog.pg_inherits i join pg_catalog.pg_class k on k.oid = i.inhrelid where i.inhparent = c.oid), -1)
		when c.relkind = 'v' then -1 else c.reltuples end::bigint
	from pg_catalog.pg_class c where c.oid = any ($1::oid[])`

const columnsSQL = `select a.attrelid, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), not a.attnotnull,
	coalesce(pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''), coalesce(pg_catalog.col_description(a.attrelid, a.attnum), ''),
	(select array_agg(e.enumlabel order by e.enumsortorder) from (select e.* from pg_catalog.pg_enum e where e.enumtypid = a.atttypid order by e.enumsortorder limit 50) e)
	from pg_catalog.pg_attribute a left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
	where a.attrelid = any ($1::oid[]) and a.attnum > 0 and not a.attisdropped
	and pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
	order by a.attrelid, a.attnum`

const keysSQL = `select k.conrelid, k.contype = 'p',
	(select array_agg(a.attname order by p.at) from unnest(k.conkey) with ordinality p (number, at)
		join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = p.number),
	coalesce(n.nspname, ''), coalesce(c.relname, ''),
	coalesce((select array_agg(a.attname order by p.at) from unnest(k.confkey) with ordinality p (number, at)
		join pg_catalog.pg_attribute a on a.attrelid = k.confrelid and a.attnum = p.number), '{}')
	from pg_catalog.pg_constraint k left join pg_catalog.pg_class c on c.oid = k.confrelid left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
	where k.conrelid = any ($1::oid[]) and k.contype in ('p', 'f')
	order by k.conrelid, k.conname`

// errUnexpectedTable is the error of a result with a table that was not
// requested.
var errUnexpectedTable = errors.New("the server returned a table that was not requested")

// visibleTables returns the tables that agents see, at most one more than
// MaxTables.
func (d *database) visibleTables(ctx context.Context, s *session) ([]relation, error) {
	rows, err := s.conn.Query(ctx, namesSQL, d.schemas)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	var out []relation
	for _, r := range all {
		if d.Tables.Allow(r.Schema, r.Name) && len(out) <= connectors.MaxTables {
			out = append(out, r)
		}
	}
	return out, nil
}

// Schema implements [connectors.Database].
func (d *database) Schema(ctx context.Context) ([]connectors.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout+connectTimeout)
	defer cancel()
	s, err := d.open(ctx, schemaTimeout)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	names, err := d.visibleTables(ctx, s)
	if err != nil {
		return nil, d.connectError(err)
	}
	names = names[:min(len(names), connectors.MaxTables)]
	tables := make([]connectors.Table, len(names))
	at := make(map[uint32]*connectors.Table, len(names))
	oids := make([]uint32, len(names))
	for i, r := range names {
		tables[i] = connectors.Table{Schema: r.Schema, Name: r.Name, Rows: -1}
		at[r.OID], oids[i] = &tables[i], r.OID
	}
	for _, step := range []struct {
		sql  string
		scan func(pgx.CollectableRow) error
	}{
		{tablesSQL, func(row pgx.CollectableRow) error {
			var oid uint32
			var t connectors.Table
			if err := row.Scan(&oid, &t.View, &t.Comment, &t.Rows); err != nil {
				return err
			}
			if at[oid] == nil {
				return errUnexpectedTable
			}
			at[oid].View, at[oid].Comment, at[oid].Rows = t.View, t.Comment, t.Rows
			return nil
		}},
		{columnsSQL, func(row pgx.CollectableRow) error {
			var oid uint32
			var c connectors.Column
			if err := row.Scan(&oid, &c.Name, &c.Type, &c.Nullable, &c.Default, &c.Comment, &c.Values); err != nil {
				return err
			}
			if at[oid] == nil {
				return errUnexpectedTable
			}
			at[oid].Columns = append(at[oid].Columns, c)
			return nil
		}},
		{keysSQL, func(row pgx.CollectableRow) error { return scanKey(row, at) }},
	} {
		rows, err := s.conn.Query(ctx, step.sql, oids)
		if err == nil {
			_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, step.scan(row) })
		}
		if err != nil {
			return nil, d.connectError(fmt.Errorf("read the schema: %w", err))
		}
	}
	return tables, nil
}

func scanKey(row pgx.CollectableRow, tables map[uint32]*connectors.Table) error {
	var oid uint32
	var primary bool
	var key connectors.ForeignKey
	if err := row.Scan(&oid, &primary, &key.Columns, &key.Schema, &key.Table, &key.References); err != nil {
		return err
	}
	if tables[oid] == nil {
		return errUnexpectedTable
	}
	if primary {
		tables[oid].PrimaryKey = key.Columns
	} else {
		tables[oid].ForeignKeys = append(tables[oid].ForeignKeys, key)
	}
	return nil
}
