package syncjob

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// sweepBatch bounds the jobs of one sweep.
const sweepBatch = 500

// A Waiter is the part of the queue that the sweeper needs.
type Waiter interface {
	Waiting(ctx context.Context, t queue.Task) (bool, error)
}

// Sweep queues open jobs again whose heartbeat is older than stale: their worker
// died, or their task was lost with Redis. It increments their attempt, which locks
// out a worker that is only slow. It leaves jobs alone whose task is still in the
// queue or whose connector is paused. It returns the number of jobs that it queued.
// Any number of processes may call it.
func (j *Jobs) Sweep(ctx context.Context, waiter Waiter, stale time.Duration) (int, error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	rows, err := j.client.SyncJob.Query().
		Where(entjob.StatusIn(openStatuses()...), entjob.HeartbeatAtLT(j.now().Add(-stale)), entjob.HasConnectorWith(connector.Not(suspended()))).
		Order(ent.Asc(entjob.FieldHeartbeatAt)).
		Limit(sweepBatch).All(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for abandoned sync jobs: %w", err)
	}
	swept := 0
	for _, row := range rows {
		again, err := j.sweepOne(ctx, waiter, row)
		if err != nil {
			return swept, err
		}
		if again {
			swept++
		}
	}
	return swept, nil
}

func (j *Jobs) sweepOne(ctx context.Context, waiter Waiter, row *ent.SyncJob) (bool, error) {
	waiting, err := waiter.Waiting(ctx, queue.Sync{JobID: row.ID, Attempt: row.Attempt})
	if err != nil {
		return false, fmt.Errorf("look for the task of a sync job: %w", err)
	}
	same := j.client.SyncJob.Update().Where(entjob.ID(row.ID), entjob.Attempt(row.Attempt), entjob.StatusEQ(row.Status))
	if waiting {
		if err := same.SetHeartbeatAt(j.now()).Exec(ctx); err != nil {
			return false, fmt.Errorf("renew the heartbeat of a waiting sync job: %w", err)
		}
		return false, nil
	}
	// The heartbeat stays old, so that the next sweep tries again if the task is
	// not queued.
	n, err := same.AddAttempt(1).SetTurnAt(j.now()).Save(ctx)
	if err != nil {
		return false, fmt.Errorf("take an abandoned sync job over: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	if err := j.queue.Enqueue(ctx, queue.Sync{JobID: row.ID, Attempt: row.Attempt + 1}); err != nil {
		return false, fmt.Errorf("queue an abandoned sync job: %w", err)
	}
	j.log.InfoContext(ctx, "sync job requeued", slog.Any("job", row.ID), slog.Int("attempt", row.Attempt+1), slog.String("status", string(row.Status)))
	return true, nil
}
