package clickhouse

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// hasColumns reports for each column whether a table of the system has it, since
// servers of different versions differ.
func (d *database) hasColumns(ctx context.Context, table string, timeout time.Duration, columns ...string) (map[string]bool, error) {
	got, err := d.send(ctx, "select * from system."+table+" limit 0", serverLimits{timeout: timeout})
	if err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for _, column := range got.Meta {
		has[column.Name] = slices.Contains(columns, column.Name)
	}
	return has, nil
}

// column returns an expression for a column that a server may not have.
func column(has map[string]bool, name, otherwise string) string {
	if has[name] {
		return name
	}
	return otherwise
}

// visibleTables returns the tables that agents see, without columns, by name.
func (d *database) visibleTables(ctx context.Context, timeout time.Duration) ([]connectors.Table, error) {
	has, err := d.hasColumns(ctx, "tables", timeout, "comment", "total_rows")
	if err != nil {
		return nil, err
	}
	got, err := d.send(ctx, fmt.Sprintf(`select name, engine, %s, %s from system.tables
		where database = currentDatabase() and not is_temporary and not startsWith(name, '.inner') order by name`,
		column(has, "comment", "''"), column(has, "total_rows", "NULL")), serverLimits{timeout: timeout})
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	if !has["total_rows"] {
		if counts, err = d.partRows(ctx, timeout); err != nil {
			return nil, err
		}
	}
	var tables []connectors.Table
	for i := range got.Data {
		t := connectors.Table{Schema: d.name, Name: got.text(i, 0), View: strings.HasSuffix(got.text(i, 1), "View"), Comment: got.text(i, 2), Rows: got.integer(i, 3, -1)}
		if count, ok := counts[t.Name]; ok {
			t.Rows = count
		}
		if t.View {
			t.Rows = -1
		}
		if d.Tables.Allow(t.Schema, t.Name) && len(tables) < connectors.MaxTables {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// partRows returns the numbers of rows of tables that are stored in parts.
func (d *database) partRows(ctx context.Context, timeout time.Duration) (map[string]int64, error) {
	got, err := d.send(ctx, "select table, sum(rows) from system.parts where active and database = currentDatabase() group by table", serverLimits{timeout: timeout})
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int64, len(got.Data))
	for i := range got.Data {
		counts[got.text(i, 0)] = got.integer(i, 1, -1)
	}
	return counts, nil
}

// Schema implements [connectors.Database]. A primary key of ClickHouse is what a
// table is sorted by; it need not be unique.
func (d *database) Schema(ctx context.Context) ([]connectors.Table, error) {
	tables, err := d.visibleTables(ctx, schemaTimeout)
	if err != nil {
		return nil, d.connectError(err)
	}
	at := make(map[string]*connectors.Table, len(tables))
	for i := range tables {
		at[tables[i].Name] = &tables[i]
	}
	has, err := d.hasColumns(ctx, "columns", schemaTimeout, "comment", "position", "is_in_primary_key")
	if err != nil {
		return nil, d.connectError(err)
	}
	// Without a position, the server lists columns as the table has them.
	order := ""
	if has["position"] {
		order = " order by table, position"
	}
	got, err := d.send(ctx, fmt.Sprintf("select table, name, type, default_kind, default_expression, %s, %s from system.columns where database = currentDatabase()%s",
		column(has, "comment", "''"), column(has, "is_in_primary_key", "0"), order), serverLimits{timeout: schemaTimeout})
	if err != nil {
		return nil, d.connectError(err)
	}
	for i := range got.Data {
		t := at[got.text(i, 0)]
		if t == nil {
			continue
		}
		c := connectors.Column{Name: got.text(i, 1), Type: got.text(i, 2), Default: got.text(i, 4), Comment: got.text(i, 5)}
		c.Nullable, c.Values = strings.HasPrefix(strings.TrimPrefix(c.Type, "LowCardinality("), "Nullable("), enumValues(c.Type)
		if kind := got.text(i, 3); kind != "" && kind != "DEFAULT" {
			c.Default = kind + " " + c.Default
		}
		t.Columns = append(t.Columns, c)
		if got.integer(i, 6, 0) == 1 {
			t.PrimaryKey = append(t.PrimaryKey, c.Name)
		}
	}
	return tables, nil
}
