package inbound

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// dispatchBatch is the maximum number of connectors in one Dispatch.
	dispatchBatch = 200
	// maxBatch is the maximum number of deliveries for one sync.
	maxBatch = 5000
	// maxNames is the maximum number of items that one sync looks up by name.
	maxNames = 5000
	// conflictDelay delays deliveries if another job was started first.
	conflictDelay = 2 * time.Second
	// maxPendingAge is how long a delivery is kept if no sync can be started.
	maxPendingAge = 30 * 24 * time.Hour
)

// Jobs starts syncs. syncjob.Jobs implements it.
type Jobs interface {
	Start(ctx context.Context, connectorID uuid.UUID, o syncjob.StartOptions) (*ent.SyncJob, error)
}

// Dispatcher turns stored deliveries into syncs. Several processes may run one at
// the same time.
type Dispatcher struct {
	pool *pgxpool.Pool
	jobs Jobs
	opt  Options
}

// NewDispatcher returns a Dispatcher that uses the application's pool.
func NewDispatcher(pool *pgxpool.Pool, jobs Jobs, o Options) *Dispatcher {
	return &Dispatcher{pool: pool, jobs: jobs, opt: o.withDefaults()}
}

// Dispatch starts a sync of each connector that has due deliveries and no open
// sync. It also completes the deliveries of finished syncs, and retries those of
// failed syncs later. It returns the number of syncs that it started.
func (d *Dispatcher) Dispatch(ctx context.Context) (int, error) {
	if err := d.finishDeliveries(ctx); err != nil {
		return 0, err
	}
	due, err := d.due(ctx)
	if err != nil {
		return 0, err
	}
	started := 0
	for _, c := range due {
		ok, err := d.start(ctx, c)
		if err != nil {
			return started, err
		}
		if ok {
			started++
		}
	}
	return started, nil
}

// finishDeliveries marks the deliveries of finished syncs as done, releases those
// of failed syncs, and deletes old ones.
func (d *Dispatcher) finishDeliveries(ctx context.Context) error {
	now := d.opt.Now()
	batch := &pgx.Batch{}
	batch.Queue(`update inbound_events e set done_at = $1 from sync_jobs j
		where e.job_id = j.id and e.done_at is null and j.status in ('COMPLETED', 'PARTIAL', 'CANCELED')`, now)
	batch.Queue(`update inbound_events e set job_id = null, attempts = e.attempts + 1,
			due_at = $1::timestamptz + least(10 * power(2, least(e.attempts, 12)), 3600) * interval '1 second'
		where e.done_at is null and e.job_id is not null
			and not exists (select 1 from sync_jobs j where j.id = e.job_id and j.status <> 'FAILED')`, now)
	batch.Queue(`delete from inbound_events where (connector_id, delivery) in
		(select connector_id, delivery from inbound_events where done_at < $1 order by done_at limit 10000 for update skip locked)`, now.Add(-d.opt.Retention))
	batch.Queue(`delete from inbound_events where done_at is null and job_id is null and due_at <= $1 and received_at < $2`, now, now.Add(-maxPendingAge))
	if err := d.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("update deliveries: %w", err)
	}
	return nil
}

// dueConnector is a connector with due deliveries.
type dueConnector struct {
	workspace, connector uuid.UUID
	permissions          bool // the deliveries concern permissions only
}

// due returns the connectors with due deliveries. Changes of items have priority
// over changes of permissions.
func (d *Dispatcher) due(ctx context.Context) ([]dueConnector, error) {
	now := d.opt.Now()
	rows, err := d.pool.Query(ctx, `select e.workspace_id, e.connector_id, bool_and(e.permissions)
		from inbound_events e join connectors c on c.workspace_id = e.workspace_id and c.id = e.connector_id
		where e.done_at is null and e.job_id is null and e.due_at <= $1 and c.enabled and c.status <> 'PAUSED' and c.deleting_at is null
			and not exists (select 1 from sync_jobs j where j.connector_id = e.connector_id and j.status in ('QUEUED', 'RUNNING'))
			and not exists (select 1 from sync_jobs j where j.connector_id = e.connector_id and j.cause = 'WEBHOOK' and j.created_at > $2)
		group by e.workspace_id, e.connector_id order by min(e.due_at) limit $3`, now, now.Add(-max(d.opt.MinInterval, 0)), dispatchBatch)
	if err != nil {
		return nil, fmt.Errorf("read due deliveries: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w dueConnector, err error) {
		return w, row.Scan(&w.workspace, &w.connector, &w.permissions)
	})
	if err != nil {
		return nil, fmt.Errorf("read due deliveries: %w", err)
	}
	return due, nil
}

// start starts a sync of a connector and assigns the deliveries to it. After a
// crash in between, the deliveries start another sync, which does no harm.
func (d *Dispatcher) start(ctx context.Context, w dueConnector) (bool, error) {
	condition := "not permissions"
	if w.permissions {
		condition = "permissions"
	}
	batch, err := readBatch(ctx, d.pool, w.workspace, w.connector, condition, d.opt.Now())
	if err != nil || batch.empty() {
		return false, err
	}
	o := syncjob.StartOptions{Cause: entjob.CauseWebhook, Mode: entjob.ModeIncremental, FileFilter: batch.names}
	switch {
	case w.permissions:
		o.Mode, o.FileFilter = entjob.ModePermissions, nil
	case batch.allItems:
		o.Mode, o.FileFilter = entjob.ModeAuto, nil
	}
	job, err := d.jobs.Start(viewer.With(ctx, viewer.System(w.workspace)), w.connector, o)
	switch code := apierr.From(err).Code; {
	case err == nil:
		return true, batch.assign(ctx, job.ID)
	case code == apierr.Conflict || code == apierr.CodeNotFound:
		// Another job was started first, or the connector was disabled or deleted.
		return false, batch.postpone(ctx, d.opt.Now().Add(conflictDelay))
	case code == apierr.InvalidRequest:
		// The names cannot be looked up, so the whole source is synced.
		d.opt.Log.WarnContext(ctx, "webhook item names invalid, whole source will be synced", slog.Any("connector", w.connector), slog.Any("error", err))
		return false, batch.requestFullSync(ctx)
	default:
		return false, fmt.Errorf("start a sync for deliveries: %w", err)
	}
}

// ProcessPending calls process with the item names of pending deliveries, if there
// are any, and then assigns the deliveries to the running job. Deliveries that
// concern the whole source stay pending.
func (d *Dispatcher) ProcessPending(ctx context.Context, scope viewer.Scope, connector, job uuid.UUID, process func(names []string) error) error {
	workspace, err := scope.Workspace()
	if err != nil {
		return fmt.Errorf("read due deliveries: %w", err)
	}
	batch, err := readBatch(ctx, d.pool, workspace, connector, "not permissions and not whole", d.opt.Now())
	if err != nil || batch.empty() {
		return err
	}
	if err := process(batch.names); err != nil {
		return err
	}
	return batch.assign(ctx, job)
}

// deliveryBatch is a set of pending deliveries of one connector.
type deliveryBatch struct {
	names    []string // distinct ids or paths of the items
	allItems bool     // the whole source must be synced

	pool       *pgxpool.Pool
	connector  uuid.UUID
	deliveries [][]byte
}

// readBatch reads the oldest due deliveries of a connector that are not assigned to
// a job and that meet an SQL condition.
func readBatch(ctx context.Context, pool *pgxpool.Pool, workspace, connector uuid.UUID, condition string, now time.Time) (*deliveryBatch, error) {
	batch := &deliveryBatch{pool: pool, connector: connector}
	rows, err := pool.Query(ctx, `select delivery, items, whole from inbound_events
		where workspace_id = $1 and connector_id = $2 and done_at is null and job_id is null and due_at <= $3
			and `+condition+` order by seq limit $4`, workspace, connector, now, maxBatch)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	var delivery []byte
	var items []string
	var whole bool
	names := map[string]bool{}
	_, err = pgx.ForEachRow(rows, []any{&delivery, &items, &whole}, func() error {
		batch.deliveries = append(batch.deliveries, slices.Clone(delivery))
		batch.allItems = batch.allItems || whole
		for _, item := range items {
			if !names[item] {
				names[item] = true
				batch.names = append(batch.names, item)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	if len(batch.names) > maxNames {
		batch.allItems = true
	}
	return batch, nil
}

func (t *deliveryBatch) empty() bool { return len(t.deliveries) == 0 }

// assign assigns the deliveries to a job. They are done when it completes, and
// pending again if it fails.
func (t *deliveryBatch) assign(ctx context.Context, job uuid.UUID) error {
	return t.update(ctx, "job_id = $3", job)
}

func (t *deliveryBatch) postpone(ctx context.Context, until time.Time) error {
	return t.update(ctx, "due_at = $3", until)
}

// requestFullSync makes the deliveries ask for a sync of the whole source.
func (t *deliveryBatch) requestFullSync(ctx context.Context) error {
	return t.update(ctx, "items = '{}', whole = $3", true)
}

func (t *deliveryBatch) update(ctx context.Context, set string, value any) error {
	_, err := t.pool.Exec(ctx, "update inbound_events set "+set+" where connector_id = $1 and delivery = any($2) and done_at is null and job_id is null",
		t.connector, t.deliveries, value)
	if err != nil {
		return fmt.Errorf("update deliveries: %w", err)
	}
	return nil
}
