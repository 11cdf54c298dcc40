package audit

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/ent"
)

const (
	// slice is how many entries one statement of a sweep removes.
	slice = 5000
	// rounds is how many statements a sweep has; the next one goes on.
	rounds = 20
)

// Sweep removes entries from before a time, of all workspaces, in bounded
// slices, and returns how many. The database refuses to remove those of the
// last day, and leaves an entry of what went in each workspace.
func Sweep(ctx context.Context, client *ent.Client, before time.Time) (int, error) {
	swept := 0
	for range rounds {
		rows, err := client.QueryContext(ctx, "select magpie_forget_audit($1, $2)", before, slice)
		if err != nil {
			return swept, fmt.Errorf("trim the audit log: %w", err)
		}
		gone, err := scan(rows, func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) })
		if err != nil {
			return swept, fmt.Errorf("trim the audit log: %w", err)
		}
		swept += gone[0]
		if gone[0] < slice {
			break
		}
	}
	return swept, nil
}
