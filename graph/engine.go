package graph

import (
	"context"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/syncjob"
)

func (r *Resolver) planSync(ctx context.Context, connectorID uuid.UUID, in *model.StartSyncInput) (*ent.SyncJob, error) {
	o, err := syncOptions(in)
	if err != nil {
		return nil, err
	}
	return r.Jobs.Plan(ctx, connectorID, o)
}

func (r *Resolver) syncPlan(ctx context.Context, jobID uuid.UUID, connectorID *uuid.UUID) (*model.SyncPlan, error) {
	found, err := r.Jobs.PlanOf(ctx, jobID, connectorID)
	if err != nil {
		return nil, err
	}
	n := found.Counts
	plan := &model.SyncPlan{Job: found.Job, Counts: &model.SyncPlanCounts{
		Added: n[planitem.ActionAdd], Modified: n[planitem.ActionModify], Compared: n[planitem.ActionCompare],
		Unchanged: n[planitem.ActionUnchanged], Skipped: n[planitem.ActionSkip], Failed: n[planitem.ActionFail],
		Deleted: n[planitem.ActionDelete], Quarantined: n[planitem.ActionQuarantine], Kept: n[planitem.ActionKeep],
	}}
	if g := found.Guard; g != nil {
		plan.Guard = &model.DeletionGuard{Blocked: g.Blocked, Missing: g.Missing, Existing: g.Existing, Threshold: g.Threshold}
	}
	return plan, nil
}

// planItems are the lines of a plan that fit what is asked for.
func (r *Resolver) planItems(ctx context.Context, plan *model.SyncPlan, action []planitem.Action, matching *string) *ent.PlanItemQuery {
	query := r.client(ctx).PlanItem.Query().Where(planitem.JobID(plan.Job.ID), planitem.ConnectorID(plan.Job.ConnectorID))
	if len(action) > 0 {
		query.Where(planitem.ActionIn(action...))
	}
	if text := sought(matching); text != "" {
		query.Where(planitem.PathContainsFold(text))
	}
	return query
}

func (r *Resolver) pendingDeletion(ctx context.Context, row *ent.Connector) (*model.PendingDeletion, error) {
	p, err := loadersOf(ctx).pending.Load(ctx, row.ID)
	if p == nil || err != nil {
		return nil, err
	}
	return &model.PendingDeletion{Documents: p.Documents, Since: p.Since, JobID: p.Job, Existing: p.Existing, Threshold: p.Threshold}, nil
}

// quarantined are the documents whose deletion waits for a decision.
func (r *Resolver) quarantined(ctx context.Context, connectorID uuid.UUID, matching *string) (*ent.DocumentQuery, error) {
	if err := r.connectorExists(ctx, connectorID); err != nil {
		return nil, err
	}
	return r.documents(ctx, nil, &connectorID, nil, matching).Where(documentHeld(connectorID)), nil
}

func (r *Resolver) dismissDeletion(ctx context.Context, connectorID uuid.UUID) (*model.DismissedDeletion, error) {
	n, err := r.Jobs.DismissDeletion(ctx, connectorID)
	if err != nil {
		return nil, err
	}
	row, err := r.client(ctx).Connector.Query().Where(connector.ID(connectorID)).Select(connector.FieldName).Only(ctx)
	if err != nil {
		return nil, err
	}
	return &model.DismissedDeletion{ConnectorID: connectorID, Documents: n}, r.audited(ctx, audit.Event{
		Action: "deletion.dismiss", TargetKind: "connector", TargetID: connectorID, TargetName: row.Name,
		Changes: []audit.Change{{Field: "documents", New: n}},
	})
}

// restoreDocument brings a deleted document back, with its line in the ledger and
// the entry of the audit log, in one transaction.
func (r *Resolver) restoreDocument(ctx context.Context, id, connectorID uuid.UUID) (*ent.Document, error) {
	if err := r.connectorExists(ctx, connectorID); err != nil {
		return nil, err
	}
	row, err := r.client(ctx).Document.Query().Where(document.ID(id), document.ConnectorID(connectorID)).Only(ctx)
	if _, err := found("Document", row, err); err != nil {
		return nil, err
	}
	if row.Status != document.StatusDeleted {
		return nil, apierr.New(apierr.Conflict, "The document is not deleted.")
	}
	reach, err := within(ctx, row.CollectionID)
	if err != nil {
		return nil, err
	}
	err = transaction.In(ctx, r.Ent, func(ctx context.Context, client *ent.Client) error {
		n, err := r.Index.RestoreIn(ctx, client, reach, []uuid.UUID{id})
		switch {
		case err != nil:
			return apierr.Wrap("restore the document", err)
		case n == 0:
			return apierr.New(apierr.Conflict, "The document is not deleted.")
		}
		// The policy of the ledger's lines decides whether the caller may.
		err = client.SyncItem.Update().Where(syncitem.ConnectorID(connectorID), syncitem.SourceID(row.SourceID)).
			SetSuppressed(false).SetHold(syncitem.HoldRestored).Exec(ctx)
		if err != nil {
			return err
		}
		return r.audited(ctx, audit.Event{Action: "document.restore", TargetKind: "document", TargetID: id, TargetName: row.Path})
	})
	if err != nil {
		return nil, err
	}
	return r.client(ctx).Document.Get(ctx, id)
}

func (r *Resolver) freshness(ctx context.Context, row *ent.Connector) (*model.Freshness, error) {
	f, err := loadersOf(ctx).freshness.Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	window := func(w syncjob.FreshnessWindow) *model.FreshnessWindow {
		out := &model.FreshnessWindow{Changes: w.Changes}
		if w.Changes > 0 {
			out.P50, out.P95, out.Max = &w.P50, &w.P95, &w.Max
		}
		return out
	}
	return &model.Freshness{LastDay: window(f.Day), LastWeek: window(f.Week), OldestWaiting: moment(f.OldestWaiting), Waiting: f.Waiting}, nil
}

func (r *Resolver) history(ctx context.Context, row *ent.Connector) (*model.SyncHistory, error) {
	h, err := loadersOf(ctx).history.Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
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
	return out, nil
}

func (r *Resolver) jobDuration(row *ent.SyncJob) *float64 {
	if took, ok := syncjob.Duration(row, r.Now()); ok {
		return seconds(took)
	}
	return nil
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// moment is null for a time that is not known.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// documentHeld are the documents in a connector's quarantine.
func documentHeld(connectorID uuid.UUID) predicate.Document {
	return func(s *sql.Selector) {
		held := sql.Table(syncitem.Table)
		s.Where(sql.In(s.C(document.FieldID), sql.Select(held.C(syncitem.FieldDocumentID)).From(held).Where(sql.And(
			sql.EQ(held.C(syncitem.FieldConnectorID), connectorID), sql.EQ(held.C(syncitem.FieldHold), syncitem.HoldQuarantined)))))
	}
}
