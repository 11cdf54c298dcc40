package attached

import (
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Limits of the tools of agents and of the operations that assistants call.
const (
	// DefaultTables and MaxTables bound the tables that a search returns.
	DefaultTables = 8
	MaxTables     = 50
	// MaxRows is the largest number of rows of a statement.
	MaxRows = 1000
	// MaxSQL is the length of the longest statement, in characters.
	MaxSQL = 10_000
	// CallTimeout bounds a call with a statement, and statementTimeout the statement.
	CallTimeout      = 30 * time.Second
	statementTimeout = 20 * time.Second
	// maxBytes bounds the rows that a model sees.
	maxBytes = 64 << 10
	// maxColumns bounds the columns of a table that a search shows.
	maxColumns = 60
)

// ToolLimits returns the limits of a statement whose rows a model reads. rows may be
// 0 for the default.
func ToolLimits(rows int) connectors.QueryLimits {
	return connectors.QueryLimits{Rows: rows, Bytes: maxBytes, Timeout: statementTimeout}
}

// A Summary is a table as a model sees it: names are as statements write them, and
// long texts are cut.
type Summary struct {
	Database Database
	Dialect  string
	Table    string
	Kind     string // table or view
	Comment  string
	// Rows is the estimated number of rows; nil if unknown.
	Rows    *int64
	Columns []connectors.Column
	// More is the number of columns that are left out.
	More       int
	Matched    []string // names of the columns that match the query
	PrimaryKey []string
	Joins      []string // conditions, as invoice.customer_id = customer.customer_id
}

// Summary describes the table with its first columns.
func (m Match) Summary() Summary {
	s := m.summary(500, maxColumns)
	for i := range s.Columns {
		s.Columns[i].Type = safetext.Truncate(s.Columns[i].Type, 100)
	}
	return s
}

// Summary describes the table with all its columns.
func (d *TableDetail) Summary() Summary { return d.summary(1000, len(d.Table.Columns)) }

func (m Match) summary(comment, columns int) Summary {
	t := m.Table
	s := Summary{
		Database: m.Database, Dialect: m.Database.dialect(), Table: qualifiedName(t.Schema, t.Name), Kind: "table",
		Comment: safetext.Truncate(t.Comment, comment), Matched: m.Columns, PrimaryKey: t.PrimaryKey,
	}
	if t.View {
		s.Kind = "view"
	}
	if t.Rows >= 0 {
		s.Rows = &t.Rows
	}
	shown := min(len(t.Columns), columns)
	s.More = len(t.Columns) - shown
	s.Columns = make([]connectors.Column, shown)
	for i, c := range t.Columns[:shown] {
		c.Default, c.Comment = safetext.Truncate(c.Default, 200), safetext.Truncate(c.Comment, 500)
		s.Columns[i] = c
	}
	s.Joins = make([]string, len(m.Joins))
	for i, j := range m.Joins {
		s.Joins[i] = j.condition()
	}
	return s
}

// qualifiedName returns a table's name as a statement writes it.
func qualifiedName(schema, name string) string { return strings.TrimPrefix(schema+"."+name, ".") }

func (j Join) condition() string {
	parts := make([]string, 0, len(j.Columns))
	for i, column := range j.Columns {
		if i < len(j.References) {
			parts = append(parts, fmt.Sprintf("%s.%s = %s.%s", qualifiedName(j.Schema, j.Table), column, qualifiedName(j.OtherSchema, j.Other), j.References[i]))
		}
	}
	return strings.Join(parts, " and ")
}

// dialect names the SQL dialect for a model.
func (d Database) dialect() string {
	switch d.Type {
	case "postgresql":
		return "PostgreSQL"
	case "mysql":
		return "MySQL or MariaDB"
	case "clickhouse":
		return "ClickHouse"
	case "mssql":
		return "SQL Server (T-SQL)"
	default:
		return d.Type
	}
}
