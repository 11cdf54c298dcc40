package tools

import (
	"context"
	"time"

	"magpie/agents/loop"
)

type schemaInput struct {
	Query string `json:"query" rule:"required,min=1,max=500" about:"What the tables or columns are about."`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"How many tables at most."`
}

func searchDatabaseSchema() loop.Tool {
	return define(SearchDatabaseSchema, "Finds tables and columns of the attached databases by what they are about.", 15*time.Second,
		func(context.Context, schemaInput) (loop.Result, error) { return loop.Result{}, noDatabase() })
}
