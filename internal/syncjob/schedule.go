package syncjob

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/predicate"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxDue bounds the schedules of one call, so that a worker that was away for long
// gets back to its other duties.
const maxDue = 1000

const (
	// missedAfter is the delay after which a start counts as missed. After an
	// outage all connectors are due; their starts are spread.
	missedAfter = 2 * time.Minute
	// maxSpread bounds the spread, which is a quarter of the interval otherwise.
	maxSpread = 10 * time.Minute
)

// StartDue starts the syncs that are due, each once, however many processes call
// it, and sets their next time. A connector whose last sync is still open skips the
// start. A connector that missed its start by more than two minutes, because no
// worker was there, gets a time of its own within the next minutes, once for all
// missed starts. A time further away than the interval, which a clock that was set
// back leaves behind, is corrected. StartDue returns the number of schedules that
// were due.
func (j *Jobs) StartDue(ctx context.Context) (int, error) {
	if err := j.correctFarSchedules(ctx); err != nil {
		return 0, err
	}
	for due := range maxDue {
		more, err := j.startNextDue(ctx)
		if err != nil || !more {
			return due, err
		}
	}
	return maxDue, nil
}

func (j *Jobs) startNextDue(ctx context.Context) (more bool, err error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	tx, err := j.client.Tx(ctx)
	if err != nil {
		return false, fmt.Errorf("look for due schedules: %w", err)
	}
	var span *tracing.Span
	defer func() { span.End(err) }() // after the task is queued, which is after the commit
	more, err = j.startOneDue(ent.NewTxContext(ctx, tx), tx, &span)
	if err != nil {
		if undo := tx.Rollback(); undo != nil {
			err = errors.Join(err, fmt.Errorf("roll back: %w", undo))
		}
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("start a scheduled sync: %w", err)
	}
	return more, nil
}

// startOneDue starts the sync that is due first. Its start begins the trace of the sync,
// which goes on in the task.
func (j *Jobs) startOneDue(ctx context.Context, tx *ent.Tx, span **tracing.Span) (bool, error) {
	now := j.now()
	rows, err := tx.Connector.Query().
		Where(
			connector.Enabled(true),
			connector.StatusNEQ(connector.StatusPaused),
			connector.SyncStrategyEQ(connector.SyncStrategyScheduled),
			connector.Or(connector.NextSyncAtLTE(now), connector.NextSyncAtIsNil()),
		).
		Order(connector.ByNextSyncAt(entsql.OrderNullsFirst())).
		Limit(1).
		ForUpdate(entsql.WithLockAction(entsql.SkipLocked)).
		All(ctx)
	if err != nil {
		return false, fmt.Errorf("look for due schedules: %w", err)
	}
	if len(rows) == 0 {
		return false, nil
	}
	row, every := rows[0], intervalOf(rows[0])
	intended := intendedStart(row, every, now)
	if row.NextSyncAt != nil && now.Sub(intended) > missedAfter {
		if err := row.Update().SetNextSyncAt(now.Add(spreadDelay(row.ID, every))).Exec(ctx); err != nil {
			return false, fmt.Errorf("spread a missed schedule: %w", err)
		}
		return true, nil
	}
	if err := row.Update().SetNextSyncAt(NextStart(intended, every, now)).Exec(ctx); err != nil {
		return false, fmt.Errorf("set the next time of a schedule: %w", err)
	}
	if intended.After(now) {
		return true, nil
	}
	inside := viewer.With(ctx, viewer.System(row.WorkspaceID))
	inside, *span = j.tracer.Begin(inside, "schedule sync", tracing.Root{}, slog.String("magpie.connector_id", row.ID.String()),
		slog.String(tracing.WorkspaceKey, row.WorkspaceID.String()), slog.Duration("magpie.schedule.late_seconds", now.Sub(intended)))
	_, err = j.Start(inside, row.ID, StartOptions{Cause: entjob.CauseSchedule})
	switch code := apierr.From(err).Code; {
	case err == nil:
	case code == apierr.Internal || code == apierr.Unavailable:
		return false, fmt.Errorf("start the scheduled sync of connector %s: %w", row.ID, err)
	default:
		// One connector must not hold up the others.
		j.log.WarnContext(ctx, "scheduled sync not started, skipped", slog.Any("connector", row.ID), slog.Any("error", err))
	}
	return true, nil
}

// intendedStart returns when the schedule was due. A connector without a time
// counts from its last sync, or is due now if there was none.
func intendedStart(row *ent.Connector, every time.Duration, now time.Time) time.Time {
	switch {
	case row.NextSyncAt != nil:
		return *row.NextSyncAt
	case row.LastSync != nil:
		return row.LastSync.Add(every)
	default:
		return now
	}
}

// spreadDelay returns the delay of a connector that missed its start:
// pseudo-random, and the same for every worker.
func spreadDelay(id uuid.UUID, every time.Duration) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write(id[:])
	return time.Duration(hash.Sum64() % uint64(min(every/4, maxSpread))) //nolint:gosec // both are positive
}

// correctFarSchedules moves schedules whose next time is further away than their
// interval.
func (j *Jobs) correctFarSchedules(ctx context.Context) error {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	now := j.now()
	for _, interval := range Intervals() {
		every, err := ParseInterval(interval)
		if err != nil {
			return err
		}
		far := []predicate.Connector{
			connector.SyncStrategyEQ(connector.SyncStrategyScheduled), connector.ScheduleInterval(interval), connector.NextSyncAtGT(now.Add(every + missedAfter)),
		}
		found, err := j.client.Connector.Query().Where(far...).Exist(ctx)
		if err == nil && found {
			err = j.client.Connector.Update().Where(far...).SetNextSyncAt(now.Add(every)).Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("correct schedules that are too far away: %w", err)
		}
	}
	return nil
}
