package graph

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/syncitem"
	entsyncjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// startedAt is when a worker first took the job, until then when it was queued.
func startedAt(row *ent.SyncJob) time.Time {
	if row.StartedAt != nil {
		return *row.StartedAt
	}
	return row.CreatedAt
}

// syncOptions reads what kind of sync is wanted.
func syncOptions(in *model.StartSyncInput) (syncjob.StartOptions, error) {
	if in == nil {
		return syncjob.StartOptions{}, nil
	}
	mode, err := syncjob.ParseMode(orEmpty(in.SyncMode))
	return syncjob.StartOptions{Mode: mode, ForceFull: in.ForceFullSync != nil && *in.ForceFullSync, FileFilter: in.FileFilter}, err //nolint:staticcheck // clients of old still send it
}

func (r *Resolver) startSync(ctx context.Context, connectorID uuid.UUID, in *model.StartSyncInput) (*ent.SyncJob, error) {
	o, err := syncOptions(in)
	if err != nil {
		return nil, err
	}
	return r.Jobs.Start(ctx, connectorID, o)
}

func (r *Resolver) syncJob(ctx context.Context, id uuid.UUID, connectorID *uuid.UUID) (*ent.SyncJob, error) {
	query := r.client(ctx).SyncJob.Query().Where(entsyncjob.ID(id))
	if connectorID != nil {
		query.Where(entsyncjob.ConnectorID(*connectorID))
	}
	row, err := query.Only(ctx)
	return found("Sync job", row, err)
}

func (r *Resolver) cancelSync(ctx context.Context, id uuid.UUID, connectorID *uuid.UUID) (*ent.SyncJob, error) {
	if connectorID != nil {
		if _, err := r.syncJob(ctx, id, connectorID); err != nil {
			return nil, err
		}
	}
	return r.Jobs.Cancel(ctx, id)
}

// syncItems are the lines of a connector's ledger, of all or of one of its jobs.
func (r *Resolver) syncItems(ctx context.Context, connectorID uuid.UUID, jobID *uuid.UUID) (*ent.SyncItemQuery, error) {
	query := r.client(ctx).SyncItem.Query().Where(syncitem.ConnectorID(connectorID))
	if jobID == nil {
		return query, r.connectorExists(ctx, connectorID)
	}
	if _, err := r.syncJob(ctx, *jobID, &connectorID); err != nil {
		return nil, err
	}
	return query.Where(syncitem.JobID(*jobID)), nil
}

// relay passes what comes in on, changed by convert, until in is closed or ctx
// ends, and then calls ended. The goroutine ends with either.
func relay[A, B any](ctx context.Context, in <-chan A, convert func(A) B, ended func()) <-chan B {
	out := make(chan B)
	go func() {
		defer close(out)
		defer ended()
		for a := range in {
			select {
			case out <- convert(a):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func progressEvent(s syncjob.Snapshot) *model.SyncProgressEvent {
	e := &model.SyncProgressEvent{
		JobID: s.Job, Status: s.Status,
		Progress: &model.SyncProgress{Collected: s.Collected, Parsed: s.Parsed, Indexed: s.Indexed},
		Stats: &model.SyncStats{
			Added: s.Added, Modified: s.Modified, Deleted: s.Deleted,
			Unchanged: s.Unchanged, Skipped: s.Skipped, Errors: s.Failed,
		},
		Warnings: append([]string{}, s.Warnings...), StartedAt: s.StartedAt,
		ConnectorID: s.Connector, CreatedAt: s.CreatedAt, Attempt: s.Attempt, Revision: s.Revision,
	}
	if e.StartedAt.IsZero() {
		e.StartedAt = s.CreatedAt
	}
	if s.Error != "" {
		e.Error = &s.Error
	}
	if !s.FinishedAt.IsZero() {
		e.FinishedAt = &s.FinishedAt
	}
	return e
}
