package mysql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

const (
	tablesSQL = `select table_name, table_type like '%VIEW%', coalesce(table_comment, ''), coalesce(table_rows, -1)
		from information_schema.tables where table_schema = ? and table_type in ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED') order by binary table_name`
	columnsSQL = `select table_name, column_name, column_type, is_nullable = 'YES', coalesce(column_default, ''), coalesce(column_comment, '')
		from information_schema.columns where table_schema = ? order by table_name, ordinal_position`
	keysSQL = `select table_name, constraint_name, column_name, coalesce(referenced_table_schema, ''), coalesce(referenced_table_name, ''), coalesce(referenced_column_name, '')
		from information_schema.key_column_usage where table_schema = ? and (constraint_name = 'PRIMARY' or referenced_table_name is not null)
		order by table_name, constraint_name, ordinal_position`
)

// visibleTables returns the tables that agents see, without columns and keys.
func (d *database) visibleTables(ctx context.Context, s *session) ([]connectors.Table, error) {
	var tables []connectors.Table
	err := s.each(ctx, tablesSQL, func(rows *sql.Rows) error {
		t := connectors.Table{Schema: d.config.DBName}
		if err := rows.Scan(&t.Name, &t.View, &t.Comment, &t.Rows); err != nil {
			return err
		}
		if t.View {
			t.Rows = -1
			if t.Comment == "VIEW" { // written by the server
				t.Comment = ""
			}
		}
		if d.Tables.Allow(t.Schema, t.Name) && len(tables) < connectors.MaxTables {
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
	defer s.close()
	tables, err := d.visibleTables(ctx, s)
	if err != nil {
		return nil, d.connectError(err)
	}
	at := make(map[string]*connectors.Table, len(tables))
	for i := range tables {
		at[tables[i].Name] = &tables[i]
	}
	err = s.each(ctx, columnsSQL, func(rows *sql.Rows) error {
		var table string
		var c connectors.Column
		if err := rows.Scan(&table, &c.Name, &c.Type, &c.Nullable, &c.Default, &c.Comment); err != nil {
			return err
		}
		if s.isMariaDB && c.Default == "NULL" {
			c.Default = ""
		}
		if t := at[table]; t != nil {
			t.Columns = append(t.Columns, c)
		}
		return nil
	})
	if err == nil {
		keys := map[[2]string]int{}
		err = s.each(ctx, keysSQL, func(rows *sql.Rows) error { return scanKey(rows, at, keys) })
	}
	if err != nil {
		return nil, d.connectError(err)
	}
	return tables, nil
}

// scanKey adds one column of a key. positions are those of foreign keys, by
// table and name.
func scanKey(rows *sql.Rows, tables map[string]*connectors.Table, positions map[[2]string]int) error {
	var table, name, column, schema, other, referenced string
	if err := rows.Scan(&table, &name, &column, &schema, &other, &referenced); err != nil {
		return err
	}
	t := tables[table]
	if t == nil {
		return nil
	}
	if other == "" {
		t.PrimaryKey = append(t.PrimaryKey, column)
		return nil
	}
	n, begun := positions[[2]string{table, name}]
	if !begun {
		n = len(t.ForeignKeys)
		positions[[2]string{table, name}] = n
		t.ForeignKeys = append(t.ForeignKeys, connectors.ForeignKey{Schema: schema, Table: other})
	}
	k := &t.ForeignKeys[n]
	k.Columns, k.References = append(k.Columns, column), append(k.References, referenced)
	return nil
}

// each calls scan for each row of a statement's result.
func (s *session) each(ctx context.Context, statement string, scan func(*sql.Rows) error) error {
	rows, err := s.conn.QueryContext(ctx, statement, s.database.config.DBName)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err reports what matters
	for rows.Next() {
		if err := scan(rows); err != nil {
			return fmt.Errorf("read the schema: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	return nil
}
