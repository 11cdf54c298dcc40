package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/lease"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Runner starts agent runs; run.Runs implements it.
type Runner interface {
	Start(ctx context.Context, in run.Input) (*ent.AgentRun, error)
}

// Question asks a person about a delivery.
type Question struct {
	Call, Tool, Title, Preview string
	Risk                       policy.Risk
	// Unknown asks what to do about a delivery whose outcome is not known.
	Unknown bool
	// Arguments are what is sent; a person may edit them.
	Arguments json.RawMessage
	Approval  Approval
	// Approvers replace those of Approval after an escalation.
	Approvers []uuid.UUID
}

// Decision is the outcome of a question.
type Decision struct {
	Call, Tool string
	Unknown    bool
	Status     string // PENDING, APPROVED, EDITED, REJECTED, EXPIRED or CANCELED
	Arguments  json.RawMessage
	Comment    string
}

// Approvals asks people.
type Approvals interface {
	// Ask stores questions about an agent run, with the client of a transaction. A
	// question that was asked before keeps its decision.
	Ask(ctx context.Context, client *ent.Client, of *ent.AgentRun, questions []Question) error
	// Decisions returns the decisions about an agent run.
	Decisions(ctx context.Context, of *ent.AgentRun) ([]Decision, error)
}

// A Job is a delivery to make.
type Job struct {
	// Key is the same whenever the delivery is repeated, and unique.
	Key string
	// First is the key of the run that this one replays, directly or over others; Key if
	// it replays none.
	First      string
	Automation *ent.Automation
	Occurrence Occurrence
	Delivery   Delivery
	Arguments  Arguments
	// Subject returns the member as whom the automation runs. The error is a *NotSent.
	Subject func(ctx context.Context) (viewer.Viewer, error)
}

// Arguments are what a delivery sends and a person may edit.
type Arguments struct {
	To    string `json:"to,omitempty"`    // shown; edits of it are refused
	Title string `json:"title,omitempty"` // subject or title
	Text  string `json:"text"`            // Markdown
}

// A Deliverer makes the deliveries of a kind.
type Deliverer interface {
	// Target says in one line to whom or what a delivery goes. An error means that it
	// cannot be made at all.
	Target(ctx context.Context, j Job) (string, error)
	// Deliver makes a delivery. A *NotSent means that nothing was sent; after any other
	// error nobody knows.
	Deliver(ctx context.Context, j Job) error
	// Repeatable reports whether a delivery with the same key may be made again.
	Repeatable() bool
}

// NotSent is the error of a delivery that had no effect.
type NotSent struct {
	Reason string // safe to show
	// Later says that another try may succeed, After how long to wait for it at least.
	Later bool
	After time.Duration
	Cause error
}

func (e *NotSent) Error() string {
	if e.Cause != nil {
		return e.Reason + ": " + e.Cause.Error()
	}
	return e.Reason
}

func (e *NotSent) Unwrap() error { return e.Cause }

// Changes reads what changed in collections; index.Store implements it.
type Changes interface {
	DocumentChanges(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after index.FeedPosition, limit int) ([]index.DocumentChange, error)
}

// EngineOptions configure an Engine. Those without a default are required.
type EngineOptions struct {
	Store      *Store
	Runner     Runner
	Approvals  Approvals
	Deliverers map[string]Deliverer
	Changes    Changes
	Principals viewer.Principals // of the sources; nil: runs read only what everybody may
	// Notify tells the owner that an automation was disabled. Nil tells nobody.
	Notify func(ctx context.Context, owner *ent.User, a *ent.Automation) error
	// LostAfter is the silence after which a worker counts as dead and others take its
	// runs: 45 s.
	LostAfter time.Duration
	// Parallel is the number of runs that one process advances at a time: 4.
	Parallel int
	// Poll is the time between two looks at a run that waits for something: 2 s.
	Poll time.Duration
}

// Engine starts due automations and advances runs. Any number of processes may have one.
type Engine struct {
	EngineOptions
	log *slog.Logger
	now func() time.Time
}

// NewEngine returns an Engine.
func NewEngine(o EngineOptions) *Engine {
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.LostAfter <= 0 {
		o.LostAfter = 45 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = 2 * time.Second
	}
	return &Engine{EngineOptions: o, log: o.Store.opt.Log, now: o.Store.opt.Now}
}

const (
	// stepTimeout bounds a step.
	stepTimeout = 2 * time.Minute
	// claimBatch is the number of runs that are claimed at once.
	claimBatch = 20
)

// Tick starts automations whose time has come or whose documents changed, and does one
// step of every run that is due.
func (e *Engine) Tick(ctx context.Context) error {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	err := errors.Join(e.fireSchedules(ctx), e.watchDocuments(ctx))
	for ctx.Err() == nil {
		n, failed := e.advance(ctx)
		err = errors.Join(err, failed)
		if n < claimBatch || failed != nil {
			break
		}
	}
	return err
}

// advance claims due runs and does one step of each.
func (e *Engine) advance(ctx context.Context) (int, error) {
	rows, err := e.claim(ctx)
	if err != nil {
		return 0, err
	}
	slots := make(chan struct{}, e.Parallel)
	var steps sync.WaitGroup
	for _, row := range rows {
		held, stop := lease.Keep(viewer.With(ctx, viewer.System(row.WorkspaceID)), e.LostAfter, e.renewal(row)) // also while it waits for a slot
		slots <- struct{}{}
		steps.Go(func() {
			defer func() { <-slots }()
			defer stop()
			inside, cancel := context.WithTimeout(held, stepTimeout)
			defer cancel()
			if err := e.step(inside, row); err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "automation step failed, will be repeated", slog.Any("run", row.ID), slog.String("step", string(row.Step)), slog.Any("error", err))
			}
		})
	}
	steps.Wait()
	return len(rows), nil
}

// claim takes due runs. The number of attempts fences the writes of their steps.
func (e *Engine) claim(ctx context.Context) ([]*ent.AutomationRun, error) {
	var out []*ent.AutomationRun
	err := transaction.In(ctx, e.Store.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		now := e.now()
		rows, err := client.AutomationRun.Query().Where(automationrun.DueAtLTE(now)).Order(automationrun.ByDueAt()).Limit(claimBatch).
			ForUpdate(sql.WithLockAction(sql.SkipLocked)).All(ctx)
		if err != nil {
			return fmt.Errorf("look for due runs: %w", err)
		}
		for _, row := range rows {
			changed, err := row.Update().AddAttempts(1).SetDueAt(e.claimEnd()).Save(ctx)
			if err != nil {
				return fmt.Errorf("claim a run: %w", err)
			}
			out = append(out, changed)
		}
		return nil
	})
	for i, row := range out {
		out[i] = row.Unwrap()
	}
	return out, err
}

// claimEnd returns the end of a claim that begins or is renewed now.
func (e *Engine) claimEnd() time.Time {
	return e.now().Add(e.LostAfter).Truncate(time.Microsecond) // as PostgreSQL keeps it
}

// renewal returns a function that extends the claim of a run, unless its step has ended or
// another worker has taken it.
func (e *Engine) renewal(row *ent.AutomationRun) func(context.Context) (bool, error) {
	until := *row.DueAt
	return func(ctx context.Context) (held bool, err error) {
		next := e.claimEnd()
		n, err := e.Store.opt.Ent.AutomationRun.Update().Where(automationrun.ID(row.ID), automationrun.Attempts(row.Attempts), automationrun.DueAt(until)).SetDueAt(next).Save(ctx)
		if err != nil {
			return false, fmt.Errorf("renew the claim of a run: %w", err)
		}
		until = next
		return n > 0, nil
	}
}

// step does the next step of a claimed run.
func (e *Engine) step(ctx context.Context, row *ent.AutomationRun) error {
	a, err := e.Store.opt.Ent.Automation.Get(ctx, row.AutomationID)
	if ent.IsNotFound(err) {
		return nil // deleted with its runs
	}
	if err != nil {
		return fmt.Errorf("read an automation: %w", err)
	}
	settings, err := SettingsOf(a)
	if err != nil {
		return e.fail(ctx, row, a, automationrun.ErrorClassInternal, "the settings of the automation cannot be used: "+err.Error())
	}
	w := &work{engine: e, row: row, automation: a, settings: settings}
	if w.occurrence, err = e.Store.open(row); err != nil {
		e.log.WarnContext(ctx, "event of a run does not open", slog.Any("run", row.ID), slog.Any("error", err))
		return e.fail(ctx, row, a, automationrun.ErrorClassInternal, "its event does not open with the configured keys")
	}
	switch row.Step {
	case automationrun.StepStart:
		return w.start(ctx)
	case automationrun.StepAgent:
		return w.follow(ctx)
	case automationrun.StepApproval:
		return w.approve(ctx)
	case automationrun.StepDelivery:
		return w.deliver(ctx)
	default:
		return nil
	}
}

// errTaken is the error of a write to a run that another worker has claimed since, or
// that was canceled.
var errTaken = errors.New("the run was taken over")

// save stores changes of a claimed run.
func (e *Engine) save(ctx context.Context, row *ent.AutomationRun, change func(*ent.AutomationRunUpdate)) error {
	return saveWith(ctx, e.Store.opt.Ent, row, e.now(), change)
}

func saveWith(ctx context.Context, client *ent.Client, row *ent.AutomationRun, now time.Time, change func(*ent.AutomationRunUpdate)) error {
	update := client.AutomationRun.Update().Where(automationrun.ID(row.ID), automationrun.Attempts(row.Attempts), automationrun.FinishedAtIsNil()).SetUpdatedAt(now)
	change(update)
	n, err := update.Save(ctx)
	if err != nil {
		return fmt.Errorf("store a run: %w", err)
	}
	if n == 0 {
		return errTaken
	}
	return nil
}

// later makes a run due again.
func (e *Engine) later(ctx context.Context, row *ent.AutomationRun, delay time.Duration, change func(*ent.AutomationRunUpdate)) error {
	return e.save(ctx, row, func(u *ent.AutomationRunUpdate) {
		u.SetDueAt(e.now().Add(delay))
		if change != nil {
			change(u)
		}
	})
}

// finish ends a run.
func (e *Engine) finish(ctx context.Context, row *ent.AutomationRun, status automationrun.Status, reason string, change func(*ent.AutomationRunUpdate)) error {
	return e.save(ctx, row, func(u *ent.AutomationRunUpdate) { end(u, status, reason, e.now(), change) })
}

func end(u *ent.AutomationRunUpdate, status automationrun.Status, reason string, now time.Time, change func(*ent.AutomationRunUpdate)) {
	u.SetStatus(status).SetStep(automationrun.StepDone).ClearDueAt().ClearWaitingSince().SetFinishedAt(now)
	if reason == "" {
		u.ClearReason()
	} else {
		u.SetReason(safetext.TruncateBytes(safetext.Line(reason), 500))
	}
	if change != nil {
		change(u)
	}
}
