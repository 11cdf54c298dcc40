package automation

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/automationrun"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// maxFailures is the number of failed runs in a row after which an automation is
	// disabled.
	maxFailures = 10
)

// retryDelays are the waits before an agent is started again after its model was
// unavailable: three times within an hour.
func retryDelays() []time.Duration {
	return []time.Duration{2 * time.Minute, 15 * time.Minute, 43 * time.Minute}
}

// fail ends a run as failed. After ten failures in a row the automation is disabled and
// its owner told.
func (e *Engine) fail(ctx context.Context, row *ent.AutomationRun, a *ent.Automation, class automationrun.ErrorClass, reason string) error {
	var disabled *ent.Automation
	err := transaction.In(ctx, e.Store.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		err := saveWith(ctx, client, row, e.now(), func(u *ent.AutomationRunUpdate) {
			end(u, automationrun.StatusFailed, reason, e.now(), func(u *ent.AutomationRunUpdate) { u.SetErrorClass(class) })
		})
		if err != nil {
			return err
		}
		locked, err := client.Automation.Query().Where(automation.ID(a.ID)).ForUpdate().Only(ctx)
		if err != nil {
			return fmt.Errorf("count a failure: %w", err)
		}
		update := locked.Update().AddFailureCount(1)
		if locked.FailureCount+1 >= maxFailures && locked.Enabled {
			update.SetEnabled(false).ClearNextRunAt().SetUpdatedAt(e.now()).
				SetDisabledReason(fmt.Sprintf("%d runs in a row failed; the last one: %s", locked.FailureCount+1, truncated(reason, 400)))
			disabled, err = update.Save(ctx)
		} else {
			err = update.Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("count a failure: %w", err)
		}
		return nil
	})
	if err != nil || disabled == nil {
		return err
	}
	disabled = disabled.Unwrap()
	e.log.WarnContext(ctx, "automation disabled", slog.Any("automation", a.ID), slog.Int("failures", disabled.FailureCount))
	e.notify(ctx, disabled)
	return nil
}

// notify tells the owner. A failure is only logged: the automation says itself why it is
// disabled.
func (e *Engine) notify(ctx context.Context, a *ent.Automation) {
	if e.Notify == nil {
		return
	}
	owner, err := e.Store.opt.Ent.User.Get(viewer.With(ctx, viewer.System(uuid.Nil)), a.OwnerID)
	if err == nil {
		err = e.Notify(ctx, owner, a)
	}
	if err != nil {
		e.log.WarnContext(ctx, "owner of an automation not told", slog.Any("automation", a.ID), slog.Any("error", err))
	}
}

// succeed ends a run as completed and forgets the failures before it.
func (e *Engine) succeed(ctx context.Context, row *ent.AutomationRun, a *ent.Automation, reason string, change func(*ent.AutomationRunUpdate)) error {
	if err := e.finish(ctx, row, automationrun.StatusCompleted, reason, change); err != nil {
		return err
	}
	if a.FailureCount == 0 {
		return nil
	}
	if err := e.Store.opt.Ent.Automation.UpdateOneID(a.ID).SetFailureCount(0).Exec(ctx); err != nil && !ent.IsNotFound(err) {
		return fmt.Errorf("forget failures: %w", err)
	}
	return nil
}
