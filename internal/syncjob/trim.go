package syncjob

import (
	"context"
	_ "embed" // the statement
	"fmt"
	"time"
)

//go:embed sql/trim_jobs.sql
var trimJobsSQL string

const (
	// freshnessKept is longer than the longest window that is asked for.
	freshnessKept = 8 * 24 * time.Hour
	// jobsKept are those of a connector that stay, however old they are.
	jobsKept = 20
)

// Trim deletes, in all workspaces, what has been kept long enough: plans,
// counts of freshness, and the rows of jobs that ended before history (0 is for
// good) and are not among the newest of their connector. What syncs did with
// items stays in the ledger. It returns how many jobs it deleted, plans among
// them, a bounded number: call it again and again.
func (j *Jobs) Trim(ctx context.Context, history time.Duration) (int, error) {
	dropped, err := j.dropPlans(ctx)
	if err != nil {
		return dropped, fmt.Errorf("drop old plans: %w", err)
	}
	if _, err := j.client.ExecContext(ctx, "delete from freshness where hour < $1", j.now().Add(-freshnessKept)); err != nil {
		return dropped, fmt.Errorf("delete old counts of freshness: %w", err)
	}
	if history <= 0 {
		return dropped, nil
	}
	done, err := j.client.ExecContext(ctx, trimJobsSQL, j.now().Add(-history), jobsKept, trimRows)
	if err != nil {
		return dropped, fmt.Errorf("delete old jobs: %w", err)
	}
	n, err := done.RowsAffected()
	return dropped + int(n), err
}
