package syncjob

import (
	"context"
	_ "embed" // the statement
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

//go:embed sql/next.sql
var nextSQL string

const (
	// turnWait is how many seconds longer a job waits for each doubling of the
	// turns it has had: short jobs overtake long ones, but none waits for ever.
	turnWait = 30
	// aliveFor is the age of a heartbeat at which a worker no longer counts as
	// holding a place of its workspace.
	aliveFor = time.Minute
	// nextTries bounds how often workers that take the same jobs try again.
	nextTries = 4
)

// Next takes the job whose turn it is. A task in the queue is a place at a
// worker and not the right of the job that it names: the job that waits in the
// workspace with the fewest jobs at work goes first, among equals that of the
// workspace whose last turn is the longest ago, and within a workspace a job with few turns before one
// with many, until that has waited for long enough. There is a task for each job
// that waits, so that each finds its place. ErrStale says that no job waits.
func (j *Jobs) Next(ctx context.Context, t queue.Sync) (*Run, error) {
	inside := viewer.With(ctx, viewer.System(uuid.Nil))
	for range nextTries {
		candidates, err := j.candidates(inside, t)
		if err != nil {
			return nil, err
		}
		if len(candidates) == 0 {
			return nil, ErrStale
		}
		for _, candidate := range candidates {
			run, err := j.Claim(ctx, candidate)
			if !errors.Is(err, ErrStale) {
				return run, err
			}
		}
	}
	return nil, errors.New("other workers take every sync job that waits; the task is delivered again")
}

func (j *Jobs) candidates(ctx context.Context, t queue.Sync) (candidates []queue.Sync, err error) {
	now := j.now()
	rows, err := j.client.QueryContext(ctx, nextSQL, now, t.JobID, t.Attempt, now.Add(-aliveFor), turnWait)
	if err != nil {
		return nil, fmt.Errorf("look for the sync job whose turn it is: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var c queue.Sync
		if err := rows.Scan(&c.JobID, &c.Attempt); err != nil {
			return nil, fmt.Errorf("read the sync job whose turn it is: %w", err)
		}
		candidates = append(candidates, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for the sync job whose turn it is: %w", err)
	}
	return candidates, nil
}

// Others reports whether another job has been waiting for a worker for at least
// so long.
func (r *Run) Others(ctx context.Context, since time.Duration) (bool, error) {
	found, err := r.jobs.client.SyncJob.Query().Where(
		entjob.StatusIn(openStatuses()...), entjob.TurnAtLTE(r.jobs.now().Add(-since)), entjob.IDNEQ(r.job),
		entjob.HasConnectorWith(connector.Not(resting())),
	).Limit(1).Select(entjob.FieldID).Strings(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return false, fmt.Errorf("look for sync jobs that wait: %w", err)
	}
	return len(found) > 0, nil
}

// taken is what a claim changes of the row.
func taken(u *ent.SyncJobUpdateOne, now time.Time) *ent.SyncJobUpdateOne {
	return u.ClearTurnAt().SetTakenAt(now).AddTurns(1)
}
