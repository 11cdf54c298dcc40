package syncjob

import (
	"context"
	"errors"
	"fmt"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/connector"
	entjob "magpie/ent/syncjob"
	"magpie/internal/apierr"
	"magpie/internal/viewer"
)

// dueLimit bounds how many schedules one call takes, so that a worker that was
// away for long comes back to its other duties.
const dueLimit = 1000

// StartDue starts the syncs whose schedule has come, each once however many
// processes call it at the same time, and moves their next time on. A connector
// whose last sync is still open misses this beat. It returns how many schedules
// were due.
func (j *Jobs) StartDue(ctx context.Context) (int, error) {
	for due := range dueLimit {
		more, err := j.startNextDue(ctx)
		if err != nil || !more {
			return due, err
		}
	}
	return dueLimit, nil
}

func (j *Jobs) startNextDue(ctx context.Context) (more bool, err error) {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	tx, err := j.client.Tx(ctx)
	if err != nil {
		return false, fmt.Errorf("look for due schedules: %w", err)
	}
	more, err = j.startOneDue(ent.NewTxContext(ctx, tx), tx)
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

func (j *Jobs) startOneDue(ctx context.Context, tx *ent.Tx) (bool, error) {
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
	intended := firstBeat(row, every, now)
	if err := row.Update().SetNextSyncAt(NextBeat(intended, every, now)).Exec(ctx); err != nil {
		return false, fmt.Errorf("move a schedule on: %w", err)
	}
	if intended.After(now) {
		return true, nil
	}
	inside := viewer.With(ctx, viewer.System(row.WorkspaceID))
	_, err = j.Start(inside, row.ID, StartOptions{Cause: entjob.CauseSchedule})
	switch code := apierr.From(err).Code; {
	case err == nil:
	case code == apierr.Internal || code == apierr.Unavailable:
		return false, fmt.Errorf("start the scheduled sync of connector %s: %w", row.ID, err)
	default:
		// A connector that may not be synced must not hold up the others.
		j.log.WarnContext(ctx, "a scheduled sync could not be started and is left out", "connector", row.ID, "error", err)
	}
	return true, nil
}

// firstBeat is when the schedule was to start a sync. One that has no time yet
// counts from the last sync, or begins at once when there was none.
func firstBeat(row *ent.Connector, every time.Duration, now time.Time) time.Time {
	switch {
	case row.NextSyncAt != nil:
		return *row.NextSyncAt
	case row.LastSync != nil:
		return row.LastSync.Add(every)
	default:
		return now
	}
}
