package syncjob

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// sweepBatch bounds what one sweep looks at.
const sweepBatch = 500

// Waiter is what the sweeper asks of the queue: whether a task is in it and
// will be delivered without further help.
type Waiter interface {
	Waiting(ctx context.Context, t queue.Task) (bool, error)
}

// Sweep looks after open jobs whose heartbeat is older than stale: those whose
// worker died and those whose task was lost with Redis. Their attempt is
// raised, which shuts out a worker that is only slow, and a new task is queued.
// A job whose task still waits its turn is left in peace, as is one whose
// connector is paused. It returns how many
// were queued anew. It may run in any number of processes at once.
func (j *Jobs) Sweep(ctx context.Context, waiter Waiter, stale time.Duration) (int, error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	rows, err := j.client.SyncJob.Query().
		Where(entjob.StatusIn(openStatuses()...), entjob.HeartbeatAtLT(j.now().Add(-stale)), entjob.HasConnectorWith(connector.Not(resting()))).
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
		return false, fmt.Errorf("look after an abandoned sync job: %w", err)
	}
	same := j.client.SyncJob.Update().Where(entjob.ID(row.ID), entjob.Attempt(row.Attempt), entjob.StatusEQ(row.Status))
	if waiting {
		if err := same.SetHeartbeatAt(j.now()).Exec(ctx); err != nil {
			return false, fmt.Errorf("leave a waiting sync job in peace: %w", err)
		}
		return false, nil
	}
	// The heartbeat stays old: should the task not reach the queue, the next
	// sweep comes back to the job.
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
	j.log.InfoContext(ctx, "an abandoned sync job was queued again", "job", row.ID, "attempt", row.Attempt+1, "status", row.Status)
	return true, nil
}
