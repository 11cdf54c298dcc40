package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// A plan is a job that stores what a sync would do in a table of its own. It reads
// the ledger and does not change it.

var (
	//go:embed sql/plan_record.sql
	planRecordSQL string
	//go:embed sql/plan_tally.sql
	planTallySQL string
	//go:embed sql/plan_missing_count.sql
	planMissingCountSQL string
	//go:embed sql/plan_missing.sql
	planMissingSQL string
	//go:embed sql/plan_entries.sql
	planEntriesSQL string
	//go:embed sql/plan_guard.sql
	planGuardSQL string
	//go:embed sql/plan_guard_of.sql
	planGuardOfSQL string
	//go:embed sql/plan_quarantine.sql
	planQuarantineSQL string
	//go:embed sql/plans_to_drop.sql
	plansToDropSQL string
)

// A PlanItem is what a sync would do with one item.
type PlanItem struct {
	SourceID, Path string
	Document       uuid.UUID // zero for none
	Action         planitem.Action
	Reason         string // safe to show; at most 2000 bytes
	Size           int64  // 0 if unknown
	Version        string
}

// RecordPlan stores plan items, whose source ids must differ, and replaces those
// that exist. It returns ErrLost if the job is not held any more.
func (r *Run) RecordPlan(ctx context.Context, lines []PlanItem) error {
	n := len(lines)
	if n == 0 {
		return nil
	}
	ids, sizes := make([]uuid.UUID, n), make([]int64, n)
	var columns [6][]string
	for i := range columns {
		columns[i] = make([]string, n)
	}
	for i, p := range lines {
		ids[i], sizes[i] = gid.New(gid.PlanItem), max(0, p.Size)
		if p.Document != uuid.Nil {
			columns[0][i] = p.Document.String()
		}
		columns[1][i], columns[2][i], columns[3][i] = p.SourceID, p.Path, string(p.Action)
		columns[4][i], columns[5][i] = storable(p.Reason), p.Version
	}
	var held int
	var fresh []string
	err := r.query(ctx, "store a plan", func(rows *sql.Rows) error {
		var action string
		var n int
		if err := rows.Scan(&held, &action, &n); err != nil {
			return err // query says what failed
		}
		for range n {
			fresh = append(fresh, action)
		}
		return nil
	}, planRecordSQL, r.job, r.attempt, r.workspace, r.jobs.now(), ids, columns[0], columns[1], columns[2], columns[3], columns[4], sizes, columns[5])
	switch {
	case err != nil:
		return err
	case held == 0:
		return ErrLost
	}
	r.Count(func(c *Counters) {
		for _, action := range fresh {
			c.countPlanned(planitem.Action(action), 1)
		}
	})
	return nil
}

// countPlanned counts n plan items as the outcomes that they predict.
func (c *Counters) countPlanned(action planitem.Action, n int) {
	switch action {
	case planitem.ActionAdd:
		c.Added += n
	case planitem.ActionModify:
		c.Modified += n
	case planitem.ActionUnchanged:
		c.Unchanged += n
	case planitem.ActionSkip:
		c.Skipped += n
	case planitem.ActionFail:
		c.Failed += n
	case planitem.ActionDelete:
		c.Deleted += n
	case planitem.ActionCompare, planitem.ActionQuarantine, planitem.ActionKeep:
	}
	switch action {
	case planitem.ActionDelete, planitem.ActionQuarantine, planitem.ActionKeep:
	default:
		c.Collected += n
	}
}

func (r *Run) tallyPlan(ctx context.Context, client *ent.Client) (Counters, error) {
	var c Counters
	err := eachRow(ctx, client, "count the items of a plan", func(rows *sql.Rows) error {
		var action planitem.Action
		var n int
		if err := rows.Scan(&action, &n); err != nil {
			return err // query says what failed
		}
		c.countPlanned(action, n)
		return nil
	}, planTallySQL, r.job)
	return c, err
}

// PlanMissing counts the documents of the connector, those that the plan did not
// see, and those among them that a dismissed deletion holds. Restored documents and
// those in incomplete containers are never missing.
func (r *Run) PlanMissing(ctx context.Context, a Absence) (existing, missing, dismissed int, err error) {
	err = r.query(ctx, "count the documents that a plan did not see", func(rows *sql.Rows) error {
		return rows.Scan(&existing, &missing, &dismissed)
	}, planMissingCountSQL, r.workspace, r.connector, r.job, a.containers())
	return existing, missing, dismissed, err
}

// NextPlanMissing returns some of the documents that the plan did not see and has
// no item for, and which of them were restored and stay.
func (r *Run) NextPlanMissing(ctx context.Context, a Absence, limit int) (gone []MissingDocument, restored map[uuid.UUID]bool, err error) {
	restored = make(map[uuid.UUID]bool)
	err = r.query(ctx, "list the documents that a plan did not see", func(rows *sql.Rows) error {
		var g MissingDocument
		var stays bool
		if err := rows.Scan(&g.Document, &g.SourceID, &g.Path, &stays); err != nil {
			return err // query says what failed
		}
		gone, restored[g.Document] = append(gone, g), stays
		return nil
	}, planMissingSQL, r.workspace, r.connector, r.job, limit, a.containers())
	return gone, restored, err
}

// PlanDeletions returns the number of documents that the plan would delete.
func (r *Run) PlanDeletions(ctx context.Context) (int, error) {
	n, err := r.jobs.client.PlanItem.Query().Where(planitem.JobID(r.job), planitem.ActionIn(planitem.ActionDelete, planitem.ActionQuarantine)).Count(r.Context(ctx))
	if err != nil {
		return 0, fmt.Errorf("count the deletions of a plan: %w", err)
	}
	return n, nil
}

// QuarantinePlan puts all deletions of the plan into quarantine.
func (r *Run) QuarantinePlan(ctx context.Context, reason string) error {
	var held int
	err := r.query(ctx, "put the deletions of a plan into quarantine", func(rows *sql.Rows) error { return rows.Scan(&held) },
		planQuarantineSQL, r.job, r.attempt, r.workspace, reason)
	if err == nil && held == 0 {
		return ErrLost
	}
	return err
}

// A PlanArchiveEntry is an entry of an archive, as the ledger has it.
type PlanArchiveEntry struct {
	SourceID, Path string
	Document       uuid.UUID
	Status         syncitem.Status
	Reason         string
}

// PlanArchiveEntries returns the entries of archives, given by source id.
func (r *Run) PlanArchiveEntries(ctx context.Context, archives []string) ([]PlanArchiveEntry, error) {
	if len(archives) == 0 {
		return nil, nil
	}
	keys := make([]string, len(archives))
	for i, id := range archives {
		keys[i] = entryid.ArchiveKey(id)
	}
	var members []PlanArchiveEntry
	err := r.query(ctx, "list the entries of archives", func(rows *sql.Rows) error {
		var m PlanArchiveEntry
		var doc uuid.NullUUID
		if err := rows.Scan(&m.SourceID, &m.Path, &doc, &m.Status, &m.Reason); err != nil {
			return err // query says what failed
		}
		m.Document = doc.UUID
		members = append(members, m)
		return nil
	}, planEntriesSQL, r.workspace, r.connector, keys)
	return members, err
}

// Guard is a decision of the deletion guard.
type Guard struct {
	Blocked                      bool
	Missing, Existing, Threshold int
}

// SetPlanGuard stores the decision of the guard with the plan.
func (r *Run) SetPlanGuard(ctx context.Context, g Guard) error {
	var held int
	err := r.query(ctx, "store the guard of a plan", func(rows *sql.Rows) error { return rows.Scan(&held) },
		planGuardSQL, r.job, r.attempt, r.workspace, g.Blocked, g.Missing, g.Existing, g.Threshold)
	if err == nil && held == 0 {
		return ErrLost
	}
	return err
}

// Plan starts a job that finds out what a sync with these options would do.
func (j *Jobs) Plan(ctx context.Context, connectorID uuid.UUID, o StartOptions) (*ent.SyncJob, error) {
	o.Plan = true
	return j.Start(ctx, connectorID, o)
}

// PlanResult is a plan, as far as it is complete.
type PlanResult struct {
	Job    *ent.SyncJob
	Counts map[planitem.Action]int
	Guard  *Guard // nil if it was not asked, or not yet
}

// PlanOf returns the plan of a job. If connectorID is not nil, it must be a job of
// that connector. A job that is no plan is not found.
func (j *Jobs) PlanOf(ctx context.Context, jobID uuid.UUID, connectorID *uuid.UUID) (*PlanResult, error) {
	client := transaction.Client(ctx, j.client)
	query := client.SyncJob.Query().Where(entjob.ID(jobID), entjob.ModeEQ(entjob.ModePlan))
	if connectorID != nil {
		query.Where(entjob.ConnectorID(*connectorID))
	}
	row, err := query.Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Plan")
	case err != nil:
		return nil, apierr.Wrap("read a plan", err)
	}
	p := &PlanResult{Job: row, Counts: make(map[planitem.Action]int)}
	err = eachRow(ctx, client, "count the items of a plan", func(rows *sql.Rows) error {
		var action planitem.Action
		var n int
		if err := rows.Scan(&action, &n); err != nil {
			return err
		}
		p.Counts[action] = n
		return nil
	}, planTallySQL, jobID)
	if err != nil {
		return nil, apierr.Wrap("read a plan", err)
	}
	err = eachRow(ctx, client, "read the guard of a plan", func(rows *sql.Rows) error {
		p.Guard = &Guard{}
		return rows.Scan(&p.Guard.Blocked, &p.Guard.Missing, &p.Guard.Existing, &p.Guard.Threshold)
	}, planGuardOfSQL, jobID)
	return p, apierr.Wrap("read a plan", err)
}

// Plans that are older, or not among the newest of their connector, are deleted.
const (
	maxPlanAge = 7 * 24 * time.Hour
	maxPlans   = 3
)

const (
	trimPlans = 100  // plans of one call of Trim
	trimBatch = 5000 // rows of one statement of Trim
)

// dropPlans deletes old plans with their jobs, of all workspaces, and returns how
// many.
func (j *Jobs) dropPlans(ctx context.Context) (int, error) {
	var ids []uuid.UUID
	err := eachRow(ctx, j.client, "look for old plans", func(rows *sql.Rows) error {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, plansToDropSQL, j.now().Add(-maxPlanAge), maxPlans, trimPlans)
	for at, id := range ids {
		if err != nil {
			return at, err
		}
		// Delete the items in batches first, so that no statement takes long.
		if err = j.drain(ctx, "delete the items of a plan",
			"delete from plan_items where id in (select id from plan_items where job_id = $1 limit $2)", id); err == nil {
			_, err = j.client.ExecContext(ctx, "delete from sync_jobs where id = $1 and mode = 'PLAN' and finished_at is not null", id)
		}
	}
	return len(ids), err
}

// drain repeats a statement that deletes up to $2 rows until no rows are left.
func (j *Jobs) drain(ctx context.Context, what, statement string, arg any) error {
	for {
		done, err := j.client.ExecContext(ctx, statement, arg, trimBatch)
		if err != nil {
			return errors.Join(errors.New(what), err)
		}
		n, err := done.RowsAffected()
		if err != nil || n < trimBatch {
			return err
		}
	}
}
