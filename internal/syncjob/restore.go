package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statement

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

//go:embed sql/next_deleted.sql
var nextDeletedSQL string

// RestoreDeletions starts the job that restores the documents that a job has
// deleted. The errors are those of Start, and a conflict if that job is open or
// there is nothing to restore.
func (j *Jobs) RestoreDeletions(ctx context.Context, connectorID, jobID uuid.UUID) (*ent.SyncJob, error) {
	client := transaction.Client(ctx, j.client)
	if err := connectorExists(ctx, client, connectorID); err != nil {
		return nil, err
	}
	target, err := get(ctx, client, jobID)
	switch {
	case err != nil:
		return nil, err
	case target.ConnectorID != connectorID:
		return nil, apierr.NotFound("Sync job")
	case Open(target.Status):
		return nil, apierr.New(apierr.Conflict, "The job has not ended yet; cancel it, or try again when it has.")
	}
	some, err := client.SyncItem.Query().Where(deletedBy(target)...).Exist(ctx)
	switch {
	case err != nil:
		return nil, apierr.Wrap("look for the deletions of a job", err)
	case !some:
		return nil, apierr.New(apierr.Conflict, "Nothing that this job deleted is kept any more, or it is back already.")
	}
	return j.Start(ctx, connectorID, StartOptions{Mode: entjob.ModeRestore, Target: jobID})
}

// deletedBy selects the ledger entries of documents that a job has deleted and that
// still exist.
func deletedBy(target *ent.SyncJob) []predicate.SyncItem {
	return []predicate.SyncItem{
		syncitem.JobID(target.ID), syncitem.ConnectorID(target.ConnectorID), syncitem.StatusEQ(syncitem.StatusDeleted),
		syncitem.Suppressed(false), syncitem.DocumentIDNotNil(),
	}
}

// NextDeleted returns some of the documents that the target of a restoration has
// deleted; none at the end.
func (r *Run) NextDeleted(ctx context.Context, limit int) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	if r.start.TargetJobID == nil {
		return nil, nil
	}
	err := r.query(ctx, "list what a job deleted", func(rows *sql.Rows) error {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err // query says what failed
		}
		ids = append(ids, id)
		return nil
	}, nextDeletedSQL, r.workspace, r.connector, *r.start.TargetJobID, limit)
	return ids, err
}
