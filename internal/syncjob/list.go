package syncjob

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Find returns a job. If connector is not nil, it must be a job of that connector.
func (j *Jobs) Find(ctx context.Context, id uuid.UUID, connector *uuid.UUID) (*ent.SyncJob, error) {
	query := transaction.Client(ctx, j.client).SyncJob.Query().Where(entjob.ID(id))
	if connector != nil {
		query.Where(entjob.ConnectorID(*connector))
	}
	row, err := query.Only(ctx)
	if err != nil {
		return nil, rowError(err)
	}
	return row, nil
}

// Query returns a query for the jobs of a connector; an empty status selects all.
func (j *Jobs) Query(ctx context.Context, connector uuid.UUID, status []entjob.Status) (*ent.SyncJobQuery, error) {
	client := transaction.Client(ctx, j.client)
	query := client.SyncJob.Query().Where(entjob.ConnectorID(connector))
	if len(status) > 0 {
		query.Where(entjob.StatusIn(status...))
	}
	return query, connectorExists(ctx, client, connector)
}

// ItemFilter selects ledger entries. Its zero value selects all.
type ItemFilter struct {
	Job        *uuid.UUID
	Status     []syncitem.Status
	Suppressed *bool
	Text       string // part of the path, ignoring case
}

// Items returns a query for the ledger entries of a connector that f selects.
func (j *Jobs) Items(ctx context.Context, connector uuid.UUID, f ItemFilter) (*ent.SyncItemQuery, error) {
	client := transaction.Client(ctx, j.client)
	query := client.SyncItem.Query().Where(syncitem.ConnectorID(connector))
	if len(f.Status) > 0 {
		query.Where(syncitem.StatusIn(f.Status...))
	}
	if f.Suppressed != nil {
		query.Where(syncitem.Suppressed(*f.Suppressed))
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		query.Where(syncitem.PathContainsFold(text))
	}
	if f.Job == nil {
		return query, connectorExists(ctx, client, connector)
	}
	_, err := j.Find(ctx, *f.Job, &connector)
	return query.Where(syncitem.JobID(*f.Job)), err
}

// PlanItems returns a query for the items of a plan; empty actions and an empty
// text select all. text is part of the path, ignoring case.
func (j *Jobs) PlanItems(ctx context.Context, plan *ent.SyncJob, actions []planitem.Action, text string) *ent.PlanItemQuery {
	query := transaction.Client(ctx, j.client).PlanItem.Query().Where(planitem.JobID(plan.ID), planitem.ConnectorID(plan.ConnectorID))
	if len(actions) > 0 {
		query.Where(planitem.ActionIn(actions...))
	}
	if text = strings.TrimSpace(text); text != "" {
		query.Where(planitem.PathContainsFold(text))
	}
	return query
}

// StartedAt returns when a worker first took a job or, before that, when the job
// was queued.
func StartedAt(row *ent.SyncJob) time.Time {
	if row.StartedAt != nil {
		return *row.StartedAt
	}
	return row.CreatedAt
}

// HidePaths returns an interceptor that removes the paths from jobs of connectors
// that enforce the permissions of their source or have restricted documents, since not everybody may know these
// paths. Administrators and Magpie itself see them.
func (j *Jobs) HidePaths() ent.Interceptor {
	return ent.InterceptFunc(func(next ent.Querier) ent.Querier {
		return ent.QuerierFunc(func(ctx context.Context, query ent.Query) (ent.Value, error) {
			value, err := next.Query(ctx, query)
			jobs, ok := value.([]*ent.SyncJob)
			if err != nil || !ok || seesPaths(ctx) {
				return value, err
			}
			return value, j.hidePaths(ctx, jobs)
		})
	})
}

func seesPaths(ctx context.Context) bool {
	v, ok := viewer.From(ctx)
	return ok && (v.Kind == viewer.KindSystem || v.Role.AtLeast(viewer.RoleAdmin))
}

func (j *Jobs) hidePaths(ctx context.Context, jobs []*ent.SyncJob) error {
	var ids []uuid.UUID
	for _, job := range jobs {
		if len(job.FileFilter) > 0 {
			ids = append(ids, job.ConnectorID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := transaction.Client(ctx, j.client).Connector.Query().Where(entconnector.IDIn(ids...)).
		Select(entconnector.FieldID, entconnector.FieldConfig).All(ctx)
	if err != nil {
		return err
	}
	open := map[uuid.UUID]bool{}
	for _, row := range rows {
		_, enforced := connectors.Settings{Config: row.Config}.IncludesPermissions()
		open[row.ID] = !enforced
	}
	v, _ := viewer.From(ctx)
	var restricted []uuid.UUID
	err = transaction.Client(ctx, j.client).Document.Query().Where(document.ConnectorIDIn(ids...), document.Restricted(true)).
		Unique(true).Select(document.FieldConnectorID).Scan(viewer.With(ctx, viewer.System(v.Workspace)), &restricted)
	if err != nil {
		return err
	}
	for _, id := range restricted {
		open[id] = false
	}
	for _, job := range jobs {
		if !open[job.ConnectorID] {
			job.FileFilter = nil
		}
	}
	return nil
}
