package mysql

import (
	"context"

	"github.com/magpie-search/magpie/connectors"
)

// QueryUnchecked runs a statement in the usual transaction, without the check
// before it.
func QueryUnchecked(ctx context.Context, attached connectors.Database, sql string, limits connectors.QueryLimits) (*connectors.Rows, error) {
	d := attached.(*database)
	limits = limits.WithDefaults()
	s, err := d.open(ctx, limits.Timeout, limits.Rows)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return d.run(ctx, s, sql, limits)
}
