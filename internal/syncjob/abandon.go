package syncjob

import (
	"context"

	"github.com/google/uuid"

	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Abandon cancels the open jobs of connectors that are being deleted. Unlike
// Cancel, it locks their workers out at once: nothing more is stored.
func (j *Jobs) Abandon(ctx context.Context, connectors ...uuid.UUID) error {
	if len(connectors) == 0 {
		return nil
	}
	now := j.now()
	err := transaction.Client(ctx, j.client).SyncJob.Update().
		Where(entjob.ConnectorIDIn(connectors...), entjob.StatusIn(openStatuses()...)).
		SetStatus(entjob.StatusCanceled).SetFinishedAt(now).SetUpdatedAt(now).AddAttempt(1).AddRevision(1).
		Exec(ctx)
	return apierr.Wrap("end the jobs of connectors", err)
}
