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
	// dispatchBatch is how many connectors one round looks after.
	dispatchBatch = 200
	// takeBatch is how many deliveries one sync takes.
	takeBatch = 5000
	// maxNames is how many items one sync looks up by name.
	maxNames = 5000
	// conflictDelay is how long deliveries wait when another job was faster.
	conflictDelay = 2 * time.Second
	// unheard is how long a delivery is kept that no sync could be started for.
	unheard = 30 * 24 * time.Hour
)

// Jobs starts syncs; syncjob.Jobs does.
type Jobs interface {
	Start(ctx context.Context, connectorID uuid.UUID, o syncjob.StartOptions) (*ent.SyncJob, error)
}

// Dispatcher turns kept deliveries into syncs. Any number of processes may run
// one at the same time.
type Dispatcher struct {
	pool *pgxpool.Pool
	jobs Jobs
	opt  Options
}

// NewDispatcher makes a Dispatcher over the application's pool.
func NewDispatcher(pool *pgxpool.Pool, jobs Jobs, o Options) *Dispatcher {
	return &Dispatcher{pool: pool, jobs: jobs, opt: o.withDefaults()}
}

// Dispatch starts a sync of each connector with deliveries that have waited long
// enough, unless one is open, and looks after those whose syncs have ended. A
// sync that failed gives its deliveries back, to be tried again later. It
// returns how many syncs it started.
func (d *Dispatcher) Dispatch(ctx context.Context) (int, error) {
	if err := d.settle(ctx); err != nil {
		return 0, err
	}
	due, err := d.due(ctx)
	if err != nil {
		return 0, err
	}
	started := 0
	for _, one := range due {
		ok, err := d.start(ctx, one)
		if err != nil {
			return started, err
		}
		if ok {
			started++
		}
	}
	return started, nil
}

// settle ends the deliveries of syncs that ended, takes back those of failed
// ones, and forgets old ones.
func (d *Dispatcher) settle(ctx context.Context) error {
	now := d.opt.Now()
	batch := &pgx.Batch{}
	batch.Queue(`update inbound_events e set done_at = $1 from sync_jobs j
		where e.job_id = j.id and e.done_at is null and j.status in ('COMPLETED', 'PARTIAL', 'CANCELED')`, now)
	batch.Queue(`update inbound_events e set job_id = null, attempts = e.attempts + 1,
			due_at = $1::timestamptz + least(10 * power(2, least(e.attempts, 12)), 3600) * interval '1 second'
		where e.done_at is null and e.job_id is not null
			and not exists (select 1 from sync_jobs j where j.id = e.job_id and j.status <> 'FAILED')`, now)
	batch.Queue(`delete from inbound_events where (connector_id, delivery) in
		(select connector_id, delivery from inbound_events where done_at < $1 order by done_at limit 10000 for update skip locked)`, now.Add(-d.opt.Keep))
	batch.Queue(`delete from inbound_events where done_at is null and job_id is null and due_at <= $1 and received_at < $2`, now, now.Add(-unheard))
	if err := d.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("look after deliveries: %w", err)
	}
	return nil
}

// waiting is what there is to do for a connector.
type waiting struct {
	workspace, connector uuid.UUID
	permissions          bool // of readers only
}

// due are the connectors with deliveries that have waited long enough. What
// items say goes before what permissions do.
func (d *Dispatcher) due(ctx context.Context) ([]waiting, error) {
	now := d.opt.Now()
	rows, err := d.pool.Query(ctx, `select e.workspace_id, e.connector_id, bool_and(e.permissions)
		from inbound_events e join connectors c on c.workspace_id = e.workspace_id and c.id = e.connector_id
		where e.done_at is null and e.job_id is null and e.due_at <= $1 and c.enabled and c.status <> 'PAUSED' and c.deleting_at is null
			and not exists (select 1 from sync_jobs j where j.connector_id = e.connector_id and j.status in ('QUEUED', 'RUNNING'))
			and not exists (select 1 from sync_jobs j where j.connector_id = e.connector_id and j.cause = 'WEBHOOK' and j.created_at > $2)
		group by e.workspace_id, e.connector_id order by min(e.due_at) limit $3`, now, now.Add(-max(d.opt.Gap, 0)), dispatchBatch)
	if err != nil {
		return nil, fmt.Errorf("look for deliveries: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w waiting, err error) {
		return w, row.Scan(&w.workspace, &w.connector, &w.permissions)
	})
	if err != nil {
		return nil, fmt.Errorf("look for deliveries: %w", err)
	}
	return due, nil
}

// start starts the sync of a connector and gives it the deliveries. Should it be
// cut off in between, the deliveries start another one, which does no harm.
func (d *Dispatcher) start(ctx context.Context, w waiting) (bool, error) {
	condition := "not permissions"
	if w.permissions {
		condition = "permissions"
	}
	taken, err := pending(ctx, d.pool, w.workspace, w.connector, condition, d.opt.Now())
	if err != nil || taken.empty() {
		return false, err
	}
	o := syncjob.StartOptions{Cause: entjob.CauseWebhook, Mode: entjob.ModeIncremental, FileFilter: taken.names}
	switch {
	case w.permissions:
		o.Mode, o.FileFilter = entjob.ModePermissions, nil
	case taken.whole:
		o.Mode, o.FileFilter = entjob.ModeAuto, nil
	}
	job, err := d.jobs.Start(viewer.With(ctx, viewer.System(w.workspace)), w.connector, o)
	switch code := apierr.From(err).Code; {
	case err == nil:
		return true, taken.give(ctx, job.ID)
	case code == apierr.Conflict || code == apierr.CodeNotFound:
		// Another job was faster, or it was disabled or deleted just now.
		return false, taken.postpone(ctx, d.opt.Now().Add(conflictDelay))
	case code == apierr.InvalidRequest:
		// The names cannot be looked for: the whole source can.
		d.opt.Log.WarnContext(ctx, "what deliveries name cannot be looked for; the whole source is", slog.Any("connector", w.connector), slog.Any("error", err))
		return false, taken.widen(ctx)
	default:
		return false, fmt.Errorf("start the sync that deliveries ask for: %w", err)
	}
}

// Absorb calls look with the names of items that deliveries for a connector tell
// of, if there are any, and then says that the job, which is running, has looked
// after them. Deliveries that ask for the whole source are left.
func (d *Dispatcher) Absorb(ctx context.Context, scope viewer.Scope, connector, job uuid.UUID, look func(names []string) error) error {
	workspace, err := scope.Workspace()
	if err != nil {
		return fmt.Errorf("look for deliveries: %w", err)
	}
	taken, err := pending(ctx, d.pool, workspace, connector, "not permissions and not whole", d.opt.Now())
	if err != nil || taken.empty() {
		return err
	}
	if err := look(taken.names); err != nil {
		return err
	}
	return taken.give(ctx, job)
}

// taken are deliveries of a connector that are about to be looked after.
type taken struct {
	names []string // ids or paths of the items that they tell of, each once
	whole bool     // the whole source has to be looked at in their place

	pool       *pgxpool.Pool
	connector  uuid.UUID
	deliveries [][]byte
}

// pending reads deliveries of a connector that nobody looks after and that meet a
// condition in SQL, the oldest first.
func pending(ctx context.Context, pool *pgxpool.Pool, workspace, connector uuid.UUID, condition string, now time.Time) (*taken, error) {
	taken := &taken{pool: pool, connector: connector}
	rows, err := pool.Query(ctx, `select delivery, items, whole from inbound_events
		where workspace_id = $1 and connector_id = $2 and done_at is null and job_id is null and due_at <= $3
			and `+condition+` order by seq limit $4`, workspace, connector, now, takeBatch)
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	var delivery []byte
	var items []string
	var whole bool
	names := map[string]bool{}
	_, err = pgx.ForEachRow(rows, []any{&delivery, &items, &whole}, func() error {
		taken.deliveries = append(taken.deliveries, slices.Clone(delivery))
		taken.whole = taken.whole || whole
		for _, item := range items {
			if !names[item] {
				names[item] = true
				taken.names = append(taken.names, item)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	if len(taken.names) > maxNames {
		taken.whole = true
	}
	return taken, nil
}

// empty reports whether there is nothing to look after.
func (t *taken) empty() bool { return len(t.deliveries) == 0 }

// give says that a sync job looks after the deliveries: they are done when it
// has ended, and wait again when it failed.
func (t *taken) give(ctx context.Context, job uuid.UUID) error {
	return t.update(ctx, "job_id = $3", job)
}

func (t *taken) postpone(ctx context.Context, until time.Time) error {
	return t.update(ctx, "due_at = $3", until)
}

// widen has the deliveries ask for the whole source.
func (t *taken) widen(ctx context.Context) error {
	return t.update(ctx, "items = '{}', whole = $3", true)
}

func (t *taken) update(ctx context.Context, set string, value any) error {
	_, err := t.pool.Exec(ctx, "update inbound_events set "+set+" where connector_id = $1 and delivery = any($2) and done_at is null and job_id is null",
		t.connector, t.deliveries, value)
	if err != nil {
		return fmt.Errorf("look after deliveries: %w", err)
	}
	return nil
}
