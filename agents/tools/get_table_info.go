package tools

import (
	"context"
	"time"

	"magpie/agents/loop"
)

type tableInput struct {
	Table    string `json:"table" rule:"required,min=1,max=300" about:"The table's name, with its schema where needed."`
	Database string `json:"database" rule:"max=200" about:"Which database, where several are attached."`
}

func getTableInfo() loop.Tool {
	return define(GetTableInfo, "Returns the columns, keys and size of a table of an attached database.", 15*time.Second,
		func(context.Context, tableInput) (loop.Result, error) { return loop.Result{}, noDatabase() })
}
