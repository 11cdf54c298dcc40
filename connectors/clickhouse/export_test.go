package clickhouse

import (
	"context"

	"github.com/magpie-search/magpie/connectors"
)

// QueryUnchecked runs a statement with the usual settings, without the check before
// it.
func QueryUnchecked(ctx context.Context, attached connectors.Database, sql string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	return attached.(*database).run(ctx, sql, limits.WithDefaults())
}

// EnumValues is enumValues.
var EnumValues = enumValues
