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
	// maxFreshnessAge is longer than the longest window of Freshness.
	maxFreshnessAge = 8 * 24 * time.Hour
	// minKeptJobs is the number of jobs of a connector that are kept, however old
	// they are.
	minKeptJobs = 20
)

// Trim deletes, in all workspaces, old plans, old lags, and the jobs that ended
// more than history ago (0 keeps them for good) and are not among the newest of
// their connector. The ledger is kept. Trim deletes a bounded number of jobs,
// including plans, and returns it: call it repeatedly.
func (j *Jobs) Trim(ctx context.Context, history time.Duration) (int, error) {
	dropped, err := j.dropPlans(ctx)
	if err != nil {
		return dropped, fmt.Errorf("drop old plans: %w", err)
	}
	if _, err := j.client.ExecContext(ctx, "delete from freshness where hour < $1", j.now().Add(-maxFreshnessAge)); err != nil {
		return dropped, fmt.Errorf("delete old counts of freshness: %w", err)
	}
	if history <= 0 {
		return dropped, nil
	}
	done, err := j.client.ExecContext(ctx, trimJobsSQL, j.now().Add(-history), minKeptJobs, trimBatch)
	if err != nil {
		return dropped, fmt.Errorf("delete old jobs: %w", err)
	}
	n, err := done.RowsAffected()
	return dropped + int(n), err
}
