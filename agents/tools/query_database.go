package tools

import (
	"context"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/connector/attached"
)

type queryInput struct {
	Query    string `json:"query" rule:"required,min=1,max=10000" about:"One SQL statement that only reads, in the database's dialect."`
	Database string `json:"database" rule:"max=200" about:"Which database, where several are attached."`
	Limit    int    `json:"limit" rule:"min=1,max=1000" about:"How many rows at most; 100 when left out."`
}

func (s *toolset) queryDatabaseTool() loop.Tool {
	return define(QueryDatabase, "Runs one reading SQL statement (SELECT, WITH, VALUES, EXPLAIN, SHOW) on an attached database and returns its rows. "+
		"Look at the schema first. Let the database filter and aggregate; where truncated is set, rows are missing, and notice says how many and what to do.", attached.CallTimeout, s.queryDatabase)
}

func (s *toolset) queryDatabase(ctx context.Context, in queryInput) (loop.Result, error) {
	if s.Databases == nil {
		return loop.Result{}, errNoDatabase()
	}
	answer, err := s.Databases.Query(ctx, s.run.Scope, attached.Statement{
		Database: in.Database, SQL: in.Query, Agent: s.run.Agent, Run: s.run.Run, Limits: attached.ToolLimits(in.Limit),
	})
	if err != nil {
		return loop.Result{}, err
	}
	out := map[string]any{
		"database": answer.Database.Name, "columns": answer.Columns, "types": answer.Types, "rows": answer.Values,
		"row_count": len(answer.Values), "took_ms": answer.Duration.Milliseconds(),
	}
	if answer.Truncated != "" {
		out["truncated"], out["left_out"], out["notice"] = answer.Truncated, answer.Omitted, answer.Notice()
		if answer.OmittedAtLeast {
			out["left_out_at_least"] = true
		}
	}
	return jsonResult(out, "%d rows of %s", len(answer.Values), answer.Database.Name)
}
