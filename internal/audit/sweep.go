package audit

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/ent"
)

const (
	// sweepBatch is the number of entries that one statement deletes.
	sweepBatch = 5000
	// sweepBatches bounds the statements of one sweep.
	sweepBatches = 20
)

// Sweep deletes the entries of all workspaces that are older than before, in
// bounded batches, and returns how many. The database refuses to delete entries of
// the last day, and writes an entry about the deletion to each workspace.
func Sweep(ctx context.Context, client *ent.Client, before time.Time) (int, error) {
	swept := 0
	for range sweepBatches {
		rows, err := client.QueryContext(ctx, "select magpie_forget_audit($1, $2)", before, sweepBatch)
		if err != nil {
			return swept, fmt.Errorf("trim the audit log: %w", err)
		}
		gone, err := scan(rows, func(rows *sql.Rows) (n int, err error) { return n, rows.Scan(&n) })
		if err != nil {
			return swept, fmt.Errorf("trim the audit log: %w", err)
		}
		swept += gone[0]
		if gone[0] < sweepBatch {
			break
		}
	}
	return swept, nil
}
