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
	// waitPerTurn is how many seconds longer a job waits for each doubling of its
	// turns: short jobs overtake long ones, but every job gets its turn.
	waitPerTurn = 30
	// heartbeatMaxAge is the age of a heartbeat from which a job does not count as
	// running.
	heartbeatMaxAge = time.Minute
	// maxNextTries bounds the retries of workers that compete for the same jobs.
	maxNextTries = 4
)

// Next claims the job whose turn it is. A task entitles a worker to a job, but not
// to the job that it names. The first job is one of the workspace with the fewest
// running jobs; among equal workspaces, of the one whose last turn is the longest
// ago; and within a workspace, a job with few turns before one with many, unless
// that has waited long enough. Each waiting job has a task, so that each is
// claimed. ErrStale means that no job waits.
func (j *Jobs) Next(ctx context.Context, t queue.Sync) (*Run, error) {
	inside := viewer.With(ctx, viewer.System(uuid.Nil))
	for range maxNextTries {
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
	rows, err := j.client.QueryContext(ctx, nextSQL, now, t.JobID, t.Attempt, now.Add(-heartbeatMaxAge), waitPerTurn)
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

// OthersWaiting reports whether another job has waited for a worker for at least
// since.
func (r *Run) OthersWaiting(ctx context.Context, since time.Duration) (bool, error) {
	found, err := r.jobs.client.SyncJob.Query().Where(
		entjob.StatusIn(openStatuses()...), entjob.TurnAtLTE(r.jobs.now().Add(-since)), entjob.IDNEQ(r.job),
		entjob.HasConnectorWith(connector.Not(suspended())),
	).Limit(1).Select(entjob.FieldID).Strings(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return false, fmt.Errorf("look for sync jobs that wait: %w", err)
	}
	return len(found) > 0, nil
}

// setClaimed sets what a claim changes, except for the attempt.
func setClaimed(u *ent.SyncJobUpdateOne, now time.Time) *ent.SyncJobUpdateOne {
	return u.ClearTurnAt().SetTakenAt(now).AddTurns(1)
}
