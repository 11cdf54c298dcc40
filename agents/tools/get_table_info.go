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

func (s *toolset) getTableInfoTool() loop.Tool {
	return define(GetTableInfo, "Returns the columns, types, keys, comments and estimated number of rows of a table of an attached database, "+
		"and a few rows where its connector shows them.", 15*time.Second, s.getTableInfo)
}

func (s *toolset) getTableInfo(ctx context.Context, in tableInput) (loop.Result, error) {
	if s.Databases == nil {
		return loop.Result{}, errNoDatabase()
	}
	d, err := s.Databases.Table(ctx, s.run.Scope, in.Database, in.Table)
	if err != nil {
		return loop.Result{}, err
	}
	t := d.Summary()
	columns := make([]tableColumn, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = tableColumn{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Default: c.Default, Values: c.Values, Comment: c.Comment}
	}
	out := map[string]any{
		"database": t.Database.Name, "dialect": t.Dialect, "table": t.Table, "kind": t.Kind, "comment": t.Comment,
		"columns": columns, "primary_key": t.PrimaryKey, "joins": t.Joins,
	}
	if t.Rows != nil {
		out["estimated_rows"] = *t.Rows
	}
	if d.Samples != nil {
		samples := map[string]any{"columns": d.Samples.Columns, "rows": d.Samples.Values}
		if notice := d.Samples.Notice(); notice != "" {
			samples["notice"] = notice
		}
		out["sample_rows"] = samples
	}
	return jsonResult(out, "%s has %d columns", t.Table, len(columns))
}
