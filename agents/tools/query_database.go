package tools

import (
	"context"
	"time"

	"magpie/agents/loop"
)

type queryInput struct {
	Query    string `json:"query" rule:"required,min=1,max=10000" about:"One SQL statement that only reads."`
	Database string `json:"database" rule:"max=200" about:"Which database, where several are attached."`
}

func queryDatabase() loop.Tool {
	return define(QueryDatabase, "Runs one reading SQL statement on an attached database.", 30*time.Second,
		func(context.Context, queryInput) (loop.Result, error) { return loop.Result{}, noDatabase() })
}
