package syncjob

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/predicate"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// dueLimit bounds how many schedules one call takes, so that a worker that was
// away for long comes back to its other duties.
const dueLimit = 1000

const (
	// late is when a schedule was missed, and not just looked at late: after an
	// outage all connectors are due, and they are spread over a while.
	late = 2 * time.Minute
	// longestSpread bounds that while, a quarter of the interval otherwise.
	longestSpread = 10 * time.Minute
)

// StartDue starts the syncs whose schedule has come, each once however many
// processes call it at the same time, and moves their next time on. A connector
// whose last sync is still open misses this beat. One that missed its beat by
// more than two minutes, since no worker was there, gets a time of its own within
// the next minutes, once for all that it missed. A time further away than the
// interval, which a clock that went back leaves behind, is drawn near. It returns
// how many schedules were due.
func (j *Jobs) StartDue(ctx context.Context) (int, error) {
	if err := j.drawNear(ctx); err != nil {
		return 0, err
	}
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
	if row.NextSyncAt != nil && now.Sub(intended) > late {
		if err := row.Update().SetNextSyncAt(now.Add(spread(row.ID, every))).Exec(ctx); err != nil {
			return false, fmt.Errorf("spread a schedule that was missed: %w", err)
		}
		return true, nil
	}
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

// spread is how long a connector that missed its beat waits: as good as random,
// and the same for each worker.
func spread(id uuid.UUID, every time.Duration) time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write(id[:])
	return time.Duration(hash.Sum64() % uint64(min(every/4, longestSpread))) //nolint:gosec // both are positive
}

// drawNear looks for schedules whose next time is further away than it can be.
func (j *Jobs) drawNear(ctx context.Context) error {
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	now := j.now()
	for _, interval := range Intervals() {
		every, err := ParseInterval(interval)
		if err != nil {
			return err
		}
		far := []predicate.Connector{
			connector.SyncStrategyEQ(connector.SyncStrategyScheduled), connector.ScheduleInterval(interval), connector.NextSyncAtGT(now.Add(every + late)),
		}
		found, err := j.client.Connector.Query().Where(far...).Exist(ctx)
		if err == nil && found {
			err = j.client.Connector.Update().Where(far...).SetNextSyncAt(now.Add(every)).Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("draw schedules near that a clock left far away: %w", err)
		}
	}
	return nil
}
