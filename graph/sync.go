package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func syncOptions(in *model.StartSyncInput) (syncjob.StartOptions, error) {
	if in == nil {
		return syncjob.StartOptions{}, nil
	}
	mode, err := syncjob.ParseMode(orZero(in.SyncMode))
	return syncjob.StartOptions{Mode: mode, ForceFull: in.ForceFullSync != nil && *in.ForceFullSync, FileFilter: in.FileFilter}, err //nolint:staticcheck // deprecated in the schema, still accepted
}

// syncWait returns what an open job waits for.
func (r *Resolver) syncWait(ctx context.Context, row *ent.SyncJob) (wait *model.SyncWait, err error) {
	w, err := r.Jobs.WaitingFor(ctx, row)
	if err != nil || w.Reason == syncjob.WaitNothing {
		return wait, err
	}
	wait = &model.SyncWait{Reason: model.SyncWaitReason(w.Reason)}
	at := w.Until.UTC().Format("15:04")
	switch w.Reason {
	case syncjob.WaitPace:
		wait.Until, wait.Text = &w.Until, "The platform asks to wait until "+at+" UTC."
	case syncjob.WaitRetry:
		wait.Until, wait.Text = &w.Until, "The next attempt is at "+at+" UTC."
	case syncjob.WaitTurn:
		wait.Text = "It waits for its turn; other syncs are first."
	case syncjob.WaitWorker:
		wait.Text = "It waits for a worker; none is running."
	case syncjob.WaitResume:
		wait.Text = "It waits until the connector is resumed."
	case syncjob.WaitNothing:
	}
	return wait, nil
}

// eventWait returns what the job of an event waits for now.
func (r *Resolver) eventWait(ctx context.Context, e *model.SyncProgressEvent) (wait *model.SyncWait, err error) {
	if !syncjob.Open(e.Status) {
		return wait, nil
	}
	row, err := r.Jobs.Find(ctx, e.JobID, nil)
	if err != nil {
		return nil, err
	}
	return r.syncWait(ctx, row)
}

func (r *Resolver) startSync(ctx context.Context, connectorID uuid.UUID, in *model.StartSyncInput) (*ent.SyncJob, error) {
	o, err := syncOptions(in)
	if err != nil {
		return nil, err
	}
	return r.Jobs.Start(ctx, connectorID, o)
}

func (r *Resolver) planSync(ctx context.Context, connectorID uuid.UUID, in *model.StartSyncInput) (*ent.SyncJob, error) {
	o, err := syncOptions(in)
	if err != nil {
		return nil, err
	}
	return r.Jobs.Plan(ctx, connectorID, o)
}

func (r *Resolver) cancelSync(ctx context.Context, id uuid.UUID, connectorID *uuid.UUID) (*ent.SyncJob, error) {
	if connectorID != nil {
		if _, err := r.Jobs.Find(ctx, id, connectorID); err != nil {
			return nil, err
		}
	}
	return r.Jobs.Cancel(ctx, id)
}

func syncPlan(p *syncjob.PlanResult, err error) (*model.SyncPlan, error) {
	if err != nil {
		return nil, err
	}
	n := p.Counts
	plan := &model.SyncPlan{Job: p.Job, Counts: &model.SyncPlanCounts{
		Added: n[planitem.ActionAdd], Modified: n[planitem.ActionModify], Compared: n[planitem.ActionCompare],
		Unchanged: n[planitem.ActionUnchanged], Skipped: n[planitem.ActionSkip], Failed: n[planitem.ActionFail],
		Deleted: n[planitem.ActionDelete], Quarantined: n[planitem.ActionQuarantine], Kept: n[planitem.ActionKeep],
	}}
	if g := p.Guard; g != nil {
		plan.Guard = &model.DeletionGuard{Blocked: g.Blocked, Missing: g.Missing, Existing: g.Existing, Threshold: g.Threshold}
	}
	return plan, nil
}

func pendingDeletion(p *syncjob.PendingDeletion) *model.PendingDeletion {
	if p == nil {
		return nil
	}
	return &model.PendingDeletion{Documents: p.Documents, Since: p.Since, JobID: p.Job, Existing: p.Existing, Threshold: p.Threshold}
}

func (r *Resolver) dismissDeletion(ctx context.Context, connectorID uuid.UUID) (*model.DismissedDeletion, error) {
	n, err := r.Jobs.DismissDeletion(ctx, connectorID)
	return &model.DismissedDeletion{ConnectorID: connectorID, Documents: n}, err
}

func freshness(f syncjob.Freshness) *model.Freshness {
	window := func(w syncjob.FreshnessWindow) *model.FreshnessWindow {
		out := &model.FreshnessWindow{Changes: w.Changes}
		if w.Changes > 0 {
			out.P50, out.P95, out.Max = &w.P50, &w.P95, &w.Max
		}
		return out
	}
	return &model.Freshness{LastDay: window(f.Day), LastWeek: window(f.Week), OldestWaiting: moment(f.OldestWaiting), Waiting: f.Waiting}
}

func syncHistory(h syncjob.History) *model.SyncHistory {
	out := &model.SyncHistory{
		Total: h.Total(), Completed: h.Completed, Partial: h.Partial, Failed: h.Failed, Canceled: h.Canceled,
		BytesFetched: h.Bytes, Pages: h.Pages, Retried: h.Retried, Added: h.Added, Modified: h.Modified, Deleted: h.Deleted,
		LastSuccess: moment(h.LastSuccess), LastFailure: moment(h.LastFailure),
	}
	if rate, ok := h.SuccessRate(); ok {
		out.SuccessRate = &rate
	}
	if mean, ok := h.MeanDuration(); ok {
		out.MeanDuration = seconds(mean)
	}
	return out
}

func (r *Resolver) jobDuration(row *ent.SyncJob) *float64 {
	if took, ok := syncjob.Duration(row, r.Now()); ok {
		return seconds(took)
	}
	return nil
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
		SourceTotal: nilIfZero(s.Announced), Error: nilIfZero(s.Error), FinishedAt: moment(s.FinishedAt),
	}
	if e.StartedAt.IsZero() {
		e.StartedAt = s.CreatedAt
	}
	return e
}
