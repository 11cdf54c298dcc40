package tools

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
)

type tableInput struct {
	Table    string `json:"table" rule:"required,min=1,max=300" about:"The table's name, with its schema where needed."`
	Database string `json:"database" rule:"max=200" about:"Which database, where several are attached."`
}

type tableColumn struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Nullable bool     `json:"nullable"`
	Default  string   `json:"default,omitempty"`
	Values   []string `json:"values,omitempty"`
	Comment  string   `json:"comment,omitempty"`
}

func (b *bench) getTableInfo() loop.Tool {
	return define(GetTableInfo, "Returns the columns, types, keys, comments and estimated number of rows of a table of an attached database, "+
		"and a few rows where its connector shows them.", 15*time.Second, b.tableInfo)
}

func (b *bench) tableInfo(ctx context.Context, in tableInput) (loop.Result, error) {
	if b.Databases == nil {
		return loop.Result{}, noDatabase()
	}
	d, err := b.Databases.Table(ctx, b.desk.Reach, in.Database, in.Table)
	if err != nil {
		return loop.Result{}, err
	}
	t := d.Table
	columns := make([]tableColumn, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = tableColumn{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Default: cut(c.Default, 200), Values: c.Values, Comment: cut(c.Comment, 500)}
	}
	out := map[string]any{
		"database": d.Database.Name, "dialect": dialect(d.Database), "table": whole(t.Schema, t.Name), "kind": kindOf(t), "comment": cut(t.Comment, 1000),
		"columns": columns, "primary_key": t.PrimaryKey, "joins": joinTexts(d.Joins),
	}
	if t.Rows >= 0 {
		out["estimated_rows"] = t.Rows
	}
	if d.Samples != nil {
		samples := map[string]any{"columns": d.Samples.Columns, "rows": d.Samples.Values}
		if notice := d.Samples.Notice(); notice != "" {
			samples["notice"] = notice
		}
		out["sample_rows"] = samples
	}
	return told(out, "%s has %d columns", whole(t.Schema, t.Name), len(columns))
}
