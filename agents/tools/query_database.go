package tools

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/connector/attached"
)

const (
	// queryTime is how long a statement may run, and queryToolTime the call with
	// all around it.
	queryTime     = 20 * time.Second
	queryToolTime = 30 * time.Second
	// queryBytes is how much of an answer a model is given.
	queryBytes = 64 << 10
)

type queryInput struct {
	Query    string `json:"query" rule:"required,min=1,max=10000" about:"One SQL statement that only reads, in the database's dialect."`
	Database string `json:"database" rule:"max=200" about:"Which database, where several are attached."`
	Limit    int    `json:"limit" rule:"min=1,max=1000" about:"How many rows at most; 100 when left out."`
}

func (b *bench) queryDatabase() loop.Tool {
	return define(QueryDatabase, "Runs one reading SQL statement (SELECT, WITH, VALUES, EXPLAIN, SHOW) on an attached database and returns its rows. "+
		"Look at the schema first. Let the database filter and aggregate; where truncated is set, rows are missing, and notice says how many and what to do.", queryToolTime, b.query)
}

func (b *bench) query(ctx context.Context, in queryInput) (loop.Result, error) {
	if b.Databases == nil {
		return loop.Result{}, noDatabase()
	}
	answer, err := b.Databases.Query(ctx, b.desk.Reach, attached.Question{
		Database: in.Database, SQL: in.Query, Agent: b.desk.Agent, Run: b.desk.Run,
		Limits: connectors.QueryLimits{Rows: in.Limit, Bytes: queryBytes, Timeout: queryTime},
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
	return told(out, "%d rows of %s", len(answer.Values), answer.Database.Name)
}
