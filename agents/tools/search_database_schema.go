package tools

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
)

const (
	tablesAtFirst = 8
	// columnsShown is how many columns of a table a search shows.
	columnsShown = 60
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

func (b *bench) searchDatabaseSchema() loop.Tool {
	return define(SearchDatabaseSchema, "Finds tables and columns of the attached databases by what they are about, with their columns, keys "+
		"and how they are joined. Call it before writing a statement for query_database.", 15*time.Second, b.findTables)
}

func (b *bench) findTables(ctx context.Context, in schemaInput) (loop.Result, error) {
	if b.Databases == nil {
		return loop.Result{}, noDatabase()
	}
	if in.Limit == 0 {
		in.Limit = tablesAtFirst
	}
	found, err := b.Databases.Search(ctx, b.desk.Reach, in.Database, in.Query, in.Limit)
	if err != nil {
		return loop.Result{}, err
	}
	tables := make([]foundTable, len(found))
	for i, f := range found {
		t := f.Table
		tables[i] = foundTable{
			Database: f.Database.Name, Dialect: dialect(f.Database), Table: whole(t.Schema, t.Name), Kind: kindOf(t), Comment: cut(t.Comment, 500),
			Columns: []string{}, Matched: f.Columns, Primary: t.PrimaryKey, Joins: joinTexts(f.Joins),
		}
		if t.Rows >= 0 {
			tables[i].Rows = &t.Rows
		}
		for at, c := range t.Columns {
			if at == columnsShown {
				tables[i].More = len(t.Columns) - at
				break
			}
			tables[i].Columns = append(tables[i].Columns, c.Name+" "+cut(c.Type, 100))
		}
	}
	return told(map[string]any{"tables": tables}, "%d tables found", len(tables))
}
