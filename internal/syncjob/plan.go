package syncjob

import (
	"context"
	"database/sql"
	_ "embed" // the statements
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ingest/member"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// A plan is a job that writes what a sync would do to a table of its own. It
// reads the ledger and leaves it alone.

var (
	//go:embed sql/plan_record.sql
	planRecordSQL string
	//go:embed sql/plan_tally.sql
	planTallySQL string
	//go:embed sql/plan_missing_count.sql
	planMissingCountSQL string
	//go:embed sql/plan_missing.sql
	planMissingSQL string
	//go:embed sql/plan_members.sql
	planMembersSQL string
	//go:embed sql/plan_guard.sql
	planGuardSQL string
	//go:embed sql/plan_guard_of.sql
	planGuardOfSQL string
	//go:embed sql/plans_to_drop.sql
	plansToDropSQL string
)

// Planned is a line of a plan.
type Planned struct {
	SourceID, Path string
	Document       uuid.UUID // zero for none
	Action         planitem.Action
	Reason         string // safe to show; at most 2000 bytes
	Size           int64  // 0 is unknown
	Version        string
}

// RecordPlan writes lines of a plan, whose source ids must differ; one that is
// there already is written anew. It fails with ErrLost when the job is not held
// any more.
func (r *Run) RecordPlan(ctx context.Context, lines []Planned) error {
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
		columns[4][i], columns[5][i] = cut(p.Reason, maxReasonBytes), p.Version
	}
	var held int
	var fresh []string
	err := r.query(ctx, "write a plan", func(rows *sql.Rows) error {
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
			c.planned(planitem.Action(action), 1)
		}
	})
	return nil
}

// planned counts n lines of a plan as the outcomes that they foresee.
func (c *Counters) planned(action planitem.Action, n int) {
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
	err := each(ctx, client, "count the lines of a plan", func(rows *sql.Rows) error {
		var action planitem.Action
		var n int
		if err := rows.Scan(&action, &n); err != nil {
			return err // query says what failed
		}
		c.planned(action, n)
		return nil
	}, planTallySQL, r.job)
	return c, err
}

// PlanMissing counts the documents that there are, those of them that the plan
// did not meet, and how many of these were held by a dismissed deletion.
// Restored ones are missed by nobody.
func (r *Run) PlanMissing(ctx context.Context) (existing, missing, dismissed int, err error) {
	err = r.query(ctx, "count the documents that a plan did not meet", func(rows *sql.Rows) error {
		return rows.Scan(&existing, &missing, &dismissed)
	}, planMissingCountSQL, r.workspace, r.connector, r.job)
	return existing, missing, dismissed, err
}

// NextPlanMissing returns some of the documents that the plan did not meet and
// has no line for yet, and which of them were restored and stay.
func (r *Run) NextPlanMissing(ctx context.Context, limit int) (gone []Gone, restored map[uuid.UUID]bool, err error) {
	restored = make(map[uuid.UUID]bool)
	err = r.query(ctx, "list the documents that a plan did not meet", func(rows *sql.Rows) error {
		var g Gone
		var stays bool
		if err := rows.Scan(&g.Document, &g.SourceID, &g.Path, &stays); err != nil {
			return err // query says what failed
		}
		gone, restored[g.Document] = append(gone, g), stays
		return nil
	}, planMissingSQL, r.workspace, r.connector, r.job, limit)
	return gone, restored, err
}

// PlanMember is a member of an archive as the ledger has it.
type PlanMember struct {
	SourceID, Path string
	Document       uuid.UUID
	Status         syncitem.Status
	Reason         string
}

// PlanMembers returns the members of archives, by their source ids.
func (r *Run) PlanMembers(ctx context.Context, archives []string) ([]PlanMember, error) {
	if len(archives) == 0 {
		return nil, nil
	}
	keys := make([]string, len(archives))
	for i, id := range archives {
		keys[i] = member.Key(id)
	}
	var members []PlanMember
	err := r.query(ctx, "list the members of archives", func(rows *sql.Rows) error {
		var m PlanMember
		var doc uuid.NullUUID
		if err := rows.Scan(&m.SourceID, &m.Path, &doc, &m.Status, &m.Reason); err != nil {
			return err // query says what failed
		}
		m.Document = doc.UUID
		members = append(members, m)
		return nil
	}, planMembersSQL, r.workspace, r.connector, keys)
	return members, err
}

// Guard is what the deletion guard said.
type Guard struct {
	Blocked                      bool
	Missing, Existing, Threshold int
}

// PlanGuard notes it with the plan.
func (r *Run) PlanGuard(ctx context.Context, g Guard) error {
	var held int
	err := r.query(ctx, "note the guard of a plan", func(rows *sql.Rows) error { return rows.Scan(&held) },
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

// PlanResult is what a plan has found so far.
type PlanResult struct {
	Job    *ent.SyncJob
	Counts map[planitem.Action]int
	Guard  *Guard // nil when it was not asked, or not yet
}

// PlanOf returns the plan that a job made; with a connector the job must be its.
// Jobs that are no plans are not found.
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
	err = each(ctx, client, "count the lines of a plan", func(rows *sql.Rows) error {
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
	err = each(ctx, client, "read the guard of a plan", func(rows *sql.Rows) error {
		p.Guard = &Guard{}
		return rows.Scan(&p.Guard.Blocked, &p.Guard.Missing, &p.Guard.Existing, &p.Guard.Threshold)
	}, planGuardOfSQL, jobID)
	return p, apierr.Wrap("read a plan", err)
}

// Plans that are older, or not among the newest of their connector, are dropped.
const (
	planAge  = 7 * 24 * time.Hour
	planKept = 3
)

const (
	trimJobs = 100  // looked at in one step of Trim
	trimRows = 5000 // deleted by one statement of it
)

// dropPlans deletes old plans with their jobs, of any workspace, and says how
// many.
func (j *Jobs) dropPlans(ctx context.Context) (int, error) {
	var ids []uuid.UUID
	err := each(ctx, j.client, "look for old plans", func(rows *sql.Rows) error {
		var id uuid.UUID
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, plansToDropSQL, j.now().Add(-planAge), planKept, trimJobs)
	for at, id := range ids {
		if err != nil {
			return at, err
		}
		// First the lines, some at a time, so that no statement is a long one.
		if err = j.drain(ctx, "delete the lines of a plan",
			"delete from plan_items where id in (select id from plan_items where job_id = $1 limit $2)", id); err == nil {
			_, err = j.client.ExecContext(ctx, "delete from sync_jobs where id = $1 and mode = 'PLAN' and finished_at is not null", id)
		}
	}
	return len(ids), err
}

// drain repeats a statement that deletes up to $2 rows until there are no more.
func (j *Jobs) drain(ctx context.Context, what, statement string, arg any) error {
	for {
		done, err := j.client.ExecContext(ctx, statement, arg, trimRows)
		if err != nil {
			return errors.Join(errors.New(what), err)
		}
		n, err := done.RowsAffected()
		if err != nil || n < trimRows {
			return err
		}
	}
}
