package syncjob

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Cancel stops a job that the viewer may change. A job that no worker holds is
// canceled at once. A worker that holds the job is asked to stop, which it does at
// the next item. A job that has ended is returned unchanged. What was stored stays.
func (j *Jobs) Cancel(ctx context.Context, jobID uuid.UUID) (*ent.SyncJob, error) {
	client := transaction.Client(ctx, j.client)
	now := j.now()
	canceled, err := client.SyncJob.Update().
		Where(entjob.ID(jobID), entjob.StatusIn(openStatuses()...), entjob.Or(entjob.StatusEQ(entjob.StatusQueued), entjob.TurnAtNotNil())).
		SetStatus(entjob.StatusCanceled).
		SetFinishedAt(now).
		SetUpdatedAt(now).
		AddAttempt(1). // locks out a worker that still holds the job
		AddRevision(1).
		Save(ctx)
	if err != nil {
		return nil, apierr.Wrap("cancel a queued sync job", err)
	}
	if canceled == 0 {
		_, err = client.SyncJob.Update().
			Where(entjob.ID(jobID), entjob.StatusEQ(entjob.StatusRunning)).
			SetCancelRequested(true).
			SetUpdatedAt(now).
			Save(ctx)
		if err != nil {
			return nil, apierr.Wrap("ask a sync job to stop", err)
		}
	}
	row, err := get(ctx, client, jobID)
	if err != nil {
		return nil, err
	}
	if canceled > 0 || row.CancelRequested && Open(row.Status) {
		transaction.AfterCommit(ctx, func(ctx context.Context) { j.publish(ctx, Event{Snapshot: SnapshotOf(row)}) })
	}
	return row, nil
}
