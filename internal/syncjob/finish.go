package syncjob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
)

// Complete ends a job that has succeeded: completed, or partial if items failed.
func (r *Run) Complete(ctx context.Context) error {
	status, note := entjob.StatusCompleted, ""
	settle := func(counted Counters) entjob.Status {
		if counted.Failed > 0 && Syncs(r.start.Mode) {
			status = entjob.StatusPartial
			note = fmt.Sprintf("%d of %d items failed; the items of the last sync say why.", counted.Failed, counted.Collected)
		}
		return status
	}
	return r.finish(ctx, settle, "", func(row *ent.Connector, u *ent.ConnectorUpdateOne) {
		if !Syncs(r.start.Mode) {
			return
		}
		u.SetLastSync(r.jobs.now())
		r.storeFeedPosition(u)
		if row.Status != connector.StatusPaused {
			u.SetStatus(connector.StatusActive)
		}
		if note == "" {
			u.ClearLastError()
		} else {
			u.SetLastError(note)
		}
	})
}

// Fail ends a job that cannot go on. message is for people. needsAuth means that
// new credentials would help.
func (r *Run) Fail(ctx context.Context, message string, needsAuth bool) error {
	message = storable(message)
	if !Syncs(r.start.Mode) && r.start.Mode != entjob.ModePermissions {
		return r.finish(ctx, always(entjob.StatusFailed), message, nil)
	}
	return r.finish(ctx, always(entjob.StatusFailed), message, func(row *ent.Connector, u *ent.ConnectorUpdateOne) {
		u.SetLastError(message)
		switch {
		case row.Status == connector.StatusPaused: // stays paused
		case needsAuth:
			u.SetStatus(connector.StatusNeedsAuth)
		default:
			u.SetStatus(connector.StatusError)
		}
	})
}

// Stop ends a job that was asked to stop or that may not run any more, for the
// given reason. What was stored stays.
func (r *Run) Stop(ctx context.Context, reason string) error {
	return r.finish(ctx, always(entjob.StatusCanceled), reason, nil)
}

// always returns a status that does not depend on the counters.
func always(status entjob.Status) func(Counters) entjob.Status {
	return func(Counters) entjob.Status { return status }
}

// finish writes the final state of the job and of its connector in one transaction.
// It counts the ledger again under the lock of the job's row, after which nothing
// is deleted for the job.
func (r *Run) finish(ctx context.Context, status func(Counters) entjob.Status, message string, change func(*ent.Connector, *ent.ConnectorUpdateOne)) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	r.saveLags(ctx)
	ctx = r.Context(ctx)
	tx, err := r.jobs.client.Tx(ctx)
	if err != nil {
		return fmt.Errorf("end a sync job: %w", err)
	}
	s, err := r.conclude(ctx, tx.Client(), status, message)
	if err == nil {
		err = r.writeEnd(ctx, tx.Client(), s, change)
	}
	if err != nil {
		if undo := tx.Rollback(); undo != nil {
			err = errors.Join(err, fmt.Errorf("roll back: %w", undo))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("end a sync job: %w", err)
	}
	r.jobs.publish(ctx, Event{Snapshot: s})
	return nil
}

// conclude locks the job's row and returns the final state of the job.
func (r *Run) conclude(ctx context.Context, client *ent.Client, status func(Counters) entjob.Status, message string) (s Snapshot, err error) {
	held, err := client.SyncJob.Query().Where(entjob.ID(r.job), entjob.Attempt(r.attempt), entjob.StatusEQ(entjob.StatusRunning)).
		ForUpdate().Select(entjob.FieldID).Strings(ctx)
	switch {
	case err != nil:
		return s, fmt.Errorf("end a sync job: %w", err)
	case len(held) == 0:
		return s, ErrLost
	}
	if err := r.recount(ctx, client); err != nil {
		return s, err
	}
	r.mu.Lock()
	r.state.Revision++
	s = r.state
	r.mu.Unlock()
	s.Status, s.Error, s.FinishedAt, s.Canceling = status(s.Counters), message, r.jobs.now(), false
	return s, nil
}

func (r *Run) writeEnd(ctx context.Context, client *ent.Client, s Snapshot, change func(*ent.Connector, *ent.ConnectorUpdateOne)) error {
	update := r.fenced(client, s).SetStatus(s.Status).SetFinishedAt(s.FinishedAt).SetHeartbeatAt(s.FinishedAt)
	if s.Error != "" {
		update.SetError(s.Error)
	}
	switch n, err := update.Save(ctx); {
	case err != nil:
		return fmt.Errorf("end a sync job: %w", err)
	case n == 0:
		return ErrLost
	}
	if change == nil {
		return nil
	}
	row, err := client.Connector.Get(ctx, r.connector)
	if err != nil {
		return fmt.Errorf("read the connector of a sync job: %w", err)
	}
	u := row.Update()
	change(row, u)
	if row.SyncStrategy == connector.SyncStrategyScheduled && row.NextSyncAt == nil {
		u.SetNextSyncAt(s.FinishedAt.Add(intervalOf(row)))
	}
	if err := u.Exec(ctx); err != nil {
		return fmt.Errorf("store the end of a sync with its connector: %w", err)
	}
	return nil
}

// intervalOf returns the schedule interval of a connector, or the default if it is
// unknown.
func intervalOf(row *ent.Connector) time.Duration {
	if every, err := ParseInterval(row.ScheduleInterval); err == nil {
		return every
	}
	return defaultInterval
}
