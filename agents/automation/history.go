package automation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	maxPayload = 64 << 10 // bytes of the payload of a manual run
	// eventRetention is the lifetime of a run's event.
	eventRetention = 30 * 24 * time.Hour
	// runRetention is the lifetime of a run.
	runRetention = 365 * 24 * time.Hour
)

// Runs returns the query of the runs that the viewer may see, of one automation or with
// one of some statuses if they are given.
func (s *Store) Runs(ctx context.Context, automationID *uuid.UUID, status []automationrun.Status) (*ent.AutomationRunQuery, error) {
	client := s.client(ctx)
	q := client.AutomationRun.Query()
	if automationID != nil {
		if err := lookup.Exists(ctx, "Automation", client.Automation.Query().Where(automation.ID(*automationID))); err != nil {
			return nil, err
		}
		q.Where(automationrun.AutomationID(*automationID))
	}
	if len(status) > 0 {
		q.Where(automationrun.StatusIn(status...))
	}
	return q, nil
}

// RunByID returns a run.
func (s *Store) RunByID(ctx context.Context, id uuid.UUID) (*ent.AutomationRun, error) {
	row, err := s.client(ctx).AutomationRun.Get(ctx, id)
	return row, lookup.Error("Automation run", err)
}

// Sees reports whether the viewer may see what a run has written: the run of a service
// member is for all editors, that of a person for that person.
func Sees(ctx context.Context, row *ent.AutomationRun) bool {
	v, ok := viewer.From(ctx)
	return ok && (!row.Private || v.Kind == viewer.KindSystem || row.SubjectID != nil && *row.SubjectID == v.Subject)
}

// Run starts a run by hand with a payload in the place of an event, also of a disabled
// automation.
func (s *Store) Run(ctx context.Context, id uuid.UUID, payload map[string]any) (*ent.AutomationRun, error) {
	row, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	if err := mayUse(v, row); err != nil {
		return nil, err
	}
	text, err := json.Marshal(payload)
	if err != nil || len(text) > maxPayload {
		return nil, apierr.Invalid("payload", fmt.Sprintf("must be JSON of at most %d bytes", maxPayload))
	}
	return s.admit(ctx, id, start{Occurrence: Occurrence{Data: object(payload), Title: "Started by hand"}, key: keyOf("manual", uuid.NewString()), byHand: true})
}

// Replay starts a new run with the event of an old one.
func (s *Store) Replay(ctx context.Context, id uuid.UUID) (*ent.AutomationRun, error) {
	old, err := s.RunByID(ctx, id)
	if err != nil {
		return nil, err
	}
	row, err := s.Get(ctx, old.AutomationID)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	if err := mayUse(v, row); err != nil {
		return nil, err
	}
	switch {
	case old.Status == automationrun.StatusSkipped:
		return nil, apierr.New(apierr.Conflict, "A skipped run keeps no event. Process the event of the integration again instead.")
	case old.FinishedAt == nil:
		return nil, apierr.New(apierr.Conflict, "The run has not ended; cancel it first.")
	case old.Event == nil:
		return nil, apierr.New(apierr.Conflict, "The event of the run was deleted 30 days after it arrived.")
	}
	o, err := s.open(old)
	if err != nil {
		return nil, apierr.Wrap("replay a run", err)
	}
	if o.First == uuid.Nil {
		o.First = old.ID
	}
	return s.admit(ctx, row.ID, start{Occurrence: o, key: keyOf("replay", uuid.NewString()), event: old.EventID, replayOf: &old.ID, byHand: true})
}

// Cancel ends a run that has not ended. What it has sent stays sent. An agent run that
// is under way goes on, but its answer is not delivered.
func (s *Store) Cancel(ctx context.Context, id uuid.UUID) (*ent.AutomationRun, error) {
	var row *ent.AutomationRun
	err := transaction.In(ctx, s.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		old, err := client.AutomationRun.Query().Where(automationrun.ID(id)).ForUpdate().Only(ctx)
		if err != nil {
			return lookup.Error("Automation run", err)
		}
		a, err := client.Automation.Get(ctx, old.AutomationID)
		if err != nil {
			return lookup.Error("Automation", err)
		}
		v, _ := viewer.From(ctx)
		if err := mayUse(v, a); err != nil && !v.Role.AtLeast(viewer.RoleAdmin) {
			return err
		}
		if old.FinishedAt != nil {
			row = old
			return nil
		}
		now := s.opt.Now()
		row, err = old.Update().SetStatus(automationrun.StatusCanceled).SetStep(automationrun.StepDone).SetReason("canceled").SetAttempts(old.Attempts + 1).
			ClearDueAt().SetFinishedAt(now).SetUpdatedAt(now).Save(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return transaction.Detach(ctx, row), nil
}

// Sweep deletes events and runs whose retention has passed, in all workspaces. It
// returns the number of runs that it changed.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	now := s.opt.Now()
	cleared, err := s.opt.Ent.AutomationRun.Update().
		Where(automationrun.EventNotNil(), automationrun.FinishedAtNotNil(), automationrun.CreatedAtLT(now.Add(-eventRetention))).ClearEvent().Save(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete expired events of runs: %w", err)
	}
	deleted, err := s.opt.Ent.AutomationRun.Delete().Where(automationrun.FinishedAtNotNil(), automationrun.CreatedAtLT(now.Add(-runRetention))).Exec(ctx)
	if err != nil {
		return cleared, fmt.Errorf("delete expired runs: %w", err)
	}
	return cleared + deleted, nil
}
