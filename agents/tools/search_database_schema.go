package tools

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/connector/attached"
)

type schemaInput struct {
	Query    string `json:"query" rule:"required,min=1,max=500" about:"What the tables or columns are about."`
	Database string `json:"database" rule:"max=200" about:"Only this database; all when left out."`
	Limit    int    `json:"limit" rule:"min=1,max=50" about:"How many tables at most; 8 when left out."`
}

type foundTable struct {
	Database string   `json:"database"`
	Dialect  string   `json:"dialect"`
	Table    string   `json:"table"`
	Kind     string   `json:"kind"`
	Comment  string   `json:"comment,omitempty"`
	Rows     *int64   `json:"estimated_rows,omitempty"`
	Columns  []string `json:"columns"`
	More     int      `json:"more_columns,omitempty"`
	Matched  []string `json:"matched_columns,omitempty"`
	Primary  []string `json:"primary_key,omitempty"`
	Joins    []string `json:"joins,omitempty"`
}

func (s *toolset) searchDatabaseSchemaTool() loop.Tool {
	return define(SearchDatabaseSchema, "Finds tables and columns of the attached databases by what they are about, with their columns, keys "+
		"and how they are joined. Call it before writing a statement for query_database.", 15*time.Second, s.searchDatabaseSchema)
}

func (s *toolset) searchDatabaseSchema(ctx context.Context, in schemaInput) (loop.Result, error) {
	if s.Databases == nil {
		return loop.Result{}, errNoDatabase()
	}
	if in.Limit == 0 {
		in.Limit = attached.DefaultTables
	}
	found, err := s.Databases.Search(ctx, s.run.Scope, in.Database, in.Query, in.Limit)
	if err != nil {
		return loop.Result{}, err
	}
	tables := make([]foundTable, len(found))
	for i, f := range found {
		t := f.Summary()
		tables[i] = foundTable{
			Database: t.Database.Name, Dialect: t.Dialect, Table: t.Table, Kind: t.Kind, Comment: t.Comment, Rows: t.Rows,
			Columns: make([]string, len(t.Columns)), More: t.More, Matched: t.Matched, Primary: t.PrimaryKey, Joins: t.Joins,
		}
		for at, c := range t.Columns {
			tables[i].Columns[at] = c.Name + " " + c.Type
		}
	}
	return jsonResult(map[string]any{"tables": tables}, "%d tables found", len(tables))
}
