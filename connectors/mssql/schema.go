package mssql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

const (
	// Numbers of rows are those of sys.partitions: sys.dm_db_partition_stats needs the
	// right VIEW DATABASE STATE.
	tablesSQL = `select schema_name(o.schema_id), o.name, case when o.type = 'V' then 1 else 0 end, coalesce(cast(e.value as nvarchar(2000)), ''),
coalesce((select sum(p.rows) from sys.partitions p where p.object_id = o.object_id and p.index_id in (0, 1)), -1)
from sys.objects o left join sys.extended_properties e on e.class = 1 and e.major_id = o.object_id and e.minor_id = 0 and e.name = 'MS_Description'
where o.type in ('U', 'V') and o.is_ms_shipped = 0 order by 1, 2`
	columnsSQL = `select schema_name(o.schema_id), o.name, c.name, type_name(c.user_type_id), cast(c.max_length as int), cast(c.precision as int), cast(c.scale as int), cast(c.is_nullable as int),
coalesce(d.definition, ''), coalesce(cast(e.value as nvarchar(2000)), ''), coalesce(k.key_ordinal, 0)
from sys.columns c join sys.objects o on o.object_id = c.object_id and o.type in ('U', 'V') and o.is_ms_shipped = 0
left join sys.default_constraints d on d.object_id = c.default_object_id
left join sys.extended_properties e on e.class = 1 and e.major_id = c.object_id and e.minor_id = c.column_id and e.name = 'MS_Description'
left join sys.indexes i on i.object_id = c.object_id and i.is_primary_key = 1
left join sys.index_columns k on k.object_id = i.object_id and k.index_id = i.index_id and k.column_id = c.column_id
order by 1, 2, c.column_id`
	foreignKeysSQL = `select schema_name(t.schema_id), t.name, f.name, c.name, schema_name(r.schema_id), r.name, rc.name
from sys.foreign_keys f join sys.foreign_key_columns k on k.constraint_object_id = f.object_id
join sys.tables t on t.object_id = k.parent_object_id join sys.columns c on c.object_id = k.parent_object_id and c.column_id = k.parent_column_id
join sys.tables r on r.object_id = k.referenced_object_id join sys.columns rc on rc.object_id = k.referenced_object_id and rc.column_id = k.referenced_column_id
order by 1, 2, 3, k.constraint_column_id`
)

// each calls scan for each row of a statement's result.
func (s *session) each(ctx context.Context, statement string, scan func(*sql.Rows) error) error {
	rows, err := s.conn.QueryContext(ctx, statement)
	if err != nil {
		return fmt.Errorf("read the catalogue: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err reports what matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("read the catalogue: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the catalogue: %w", err)
	}
	return nil
}

// visibleTables returns the tables that agents see, without columns and keys.
func (d *database) visibleTables(ctx context.Context, s *session) ([]connectors.Table, error) {
	var tables []connectors.Table
	err := s.each(ctx, tablesSQL, func(rows *sql.Rows) error {
		var t connectors.Table
		var view int
		if err := rows.Scan(&t.Schema, &t.Name, &view, &t.Comment, &t.Rows); err != nil {
			return err
		}
		if t.View = view == 1; t.View {
			t.Rows = -1
		}
		if d.isVisible(t.Schema, t.Name) && len(tables) < connectors.MaxTables {
			tables = append(tables, t)
		}
		return nil
	})
	return tables, err
}

// Schema implements [connectors.Database].
func (d *database) Schema(ctx context.Context) ([]connectors.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, schemaTimeout+connectTimeout)
	defer cancel()
	s, err := d.open(ctx, schemaTimeout, noRowLimit)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	tables, err := d.visibleTables(ctx, s)
	if err != nil {
		return nil, d.connectError(err)
	}
	at := make(map[[2]string]*connectors.Table, len(tables))
	for i := range tables {
		at[[2]string{tables[i].Schema, tables[i].Name}] = &tables[i]
	}
	if err := s.each(ctx, columnsSQL, func(rows *sql.Rows) error { return scanColumn(rows, at) }); err != nil {
		return nil, d.connectError(err)
	}
	keys := map[[3]string]int{}
	if err := s.each(ctx, foreignKeysSQL, func(rows *sql.Rows) error { return scanForeignKey(rows, at, keys) }); err != nil {
		return nil, d.connectError(err)
	}
	return tables, nil
}

// scanColumn adds a column to its table.
func scanColumn(rows *sql.Rows, tables map[[2]string]*connectors.Table) error {
	var table [2]string
	var c connectors.Column
	var kind string
	var length, precision, scale, nullable, key int
	if err := rows.Scan(&table[0], &table[1], &c.Name, &kind, &length, &precision, &scale, &nullable, &c.Default, &c.Comment, &key); err != nil {
		return err
	}
	t := tables[table]
	if t == nil {
		return nil
	}
	c.Type, c.Nullable = typeName(kind, length, precision, scale), nullable == 1
	t.Columns = append(t.Columns, c)
	if key > 0 {
		for len(t.PrimaryKey) < key {
			t.PrimaryKey = append(t.PrimaryKey, "")
		}
		t.PrimaryKey[key-1] = c.Name
	}
	return nil
}

// typeName returns a type as a statement writes it. length is in bytes, -1 for max.
func typeName(kind string, length, precision, scale int) string {
	switch kind {
	case "nchar", "nvarchar":
		length /= 2 // -1 becomes 0
		fallthrough
	case "char", "varchar", "binary", "varbinary":
		if length <= 0 {
			return kind + "(max)"
		}
		return fmt.Sprintf("%s(%d)", kind, length)
	case "decimal", "numeric":
		return fmt.Sprintf("%s(%d,%d)", kind, precision, scale)
	default:
		return kind
	}
}

// scanForeignKey adds one column of a foreign key. positions are those of the keys
// of tables, by schema, table and name.
func scanForeignKey(rows *sql.Rows, tables map[[2]string]*connectors.Table, positions map[[3]string]int) error {
	var schema, table, name, column, otherSchema, other, referenced string
	if err := rows.Scan(&schema, &table, &name, &column, &otherSchema, &other, &referenced); err != nil {
		return err
	}
	t := tables[[2]string{schema, table}]
	if t == nil {
		return nil
	}
	n, begun := positions[[3]string{schema, table, name}]
	if !begun {
		n = len(t.ForeignKeys)
		positions[[3]string{schema, table, name}] = n
		t.ForeignKeys = append(t.ForeignKeys, connectors.ForeignKey{Schema: otherSchema, Table: other})
	}
	k := &t.ForeignKeys[n]
	k.Columns, k.References = append(k.Columns, column), append(k.References, referenced)
	return nil
}
