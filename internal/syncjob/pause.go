package syncjob

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/predicate"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// The open job of a paused connector is suspended: no worker takes it, and it
// continues from its cursor after the pause. A disabled connector is paused, too,
// but its job ends.

// ErrPaused is returned if the connector of a job was paused.
var ErrPaused = errors.New("the connector was paused")

// suspended selects the connectors whose open jobs are suspended.
func suspended() predicate.Connector {
	return connector.And(connector.StatusEQ(connector.StatusPaused), connector.Enabled(true))
}

func isSuspended(row *ent.Connector) bool { return row.Status == connector.StatusPaused && row.Enabled }

// Pause pauses a connector. A job that runs stops at its next item and keeps its
// place. A connector that is paused or disabled is returned unchanged. The errors
// are apierr.
func (j *Jobs) Pause(ctx context.Context, connectorID uuid.UUID) (*ent.Connector, error) {
	client := transaction.Client(ctx, j.client)
	row, err := lockedConnector(ctx, client, connectorID)
	if err != nil || row.Status == connector.StatusPaused {
		return row, err
	}
	if row, err = row.Update().SetStatus(connector.StatusPaused).Save(ctx); err != nil {
		return nil, apierr.Wrap("pause the connector", err)
	}
	open, ok, err := openJob(ctx, client, connectorID)
	if err != nil {
		return nil, err
	}
	if ok {
		update := SnapshotOf(open)
		update.Pausing = true
		transaction.AfterCommit(ctx, func(ctx context.Context) { j.publish(ctx, Event{Snapshot: update}) })
	}
	return row, nil
}

// Resume ends the pause of a connector, and enables it. A suspended job continues.
// A connector that is not paused is returned unchanged.
func (j *Jobs) Resume(ctx context.Context, connectorID uuid.UUID) (*ent.Connector, error) {
	client := transaction.Client(ctx, j.client)
	row, err := lockedConnector(ctx, client, connectorID)
	if err != nil || row.Status != connector.StatusPaused && row.Enabled {
		return row, err
	}
	if row, err = row.Update().SetStatus(connector.StatusActive).SetEnabled(true).Save(ctx); err != nil {
		return nil, apierr.Wrap("resume the connector", err)
	}
	return row, j.Wake(ctx, connectorID)
}

// Wake queues the suspended job of a connector whose pause has ended.
func (j *Jobs) Wake(ctx context.Context, connectorID uuid.UUID) error {
	open, ok, err := openJob(ctx, transaction.Client(ctx, j.client), connectorID)
	if err != nil || !ok {
		return err
	}
	// A worker that still holds the job queues it when it suspends the job.
	if open.TurnAt != nil {
		// A new heartbeat keeps the sweeper away from the job.
		err := transaction.Client(ctx, j.client).SyncJob.Update().Where(entjob.ID(open.ID), entjob.Attempt(open.Attempt)).
			SetHeartbeatAt(j.now()).Exec(ctx)
		if err != nil {
			return apierr.Wrap("wake a suspended sync job", err)
		}
		transaction.AfterCommit(ctx, func(ctx context.Context) { j.enqueue(ctx, open) })
	}
	return nil
}

func lockedConnector(ctx context.Context, client *ent.Client, id uuid.UUID) (*ent.Connector, error) {
	row, err := client.Connector.Query().Where(connector.ID(id)).ForUpdate().Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Connector")
	case err != nil:
		return nil, apierr.Wrap("read the connector", err)
	}
	return row, nil
}

// Suspend releases the job until the pause of its connector ends. People see it as
// queued. It keeps its cursor and counters.
func (r *Run) Suspend(ctx context.Context, retries int) error {
	err := r.save(ctx, "suspend a sync job", func(u *ent.SyncJobUpdate) {
		u.SetRetries(retries).SetHeartbeatAt(r.jobs.now()).SetTurnAt(r.jobs.now()).SetStatus(entjob.StatusQueued)
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.state.Status = entjob.StatusQueued
	r.state.Revision++
	s := r.state
	r.mu.Unlock()
	r.jobs.publish(ctx, Event{Snapshot: s})
	row, err := r.jobs.client.Connector.Get(r.Context(ctx), r.connector)
	switch {
	case ent.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read whether a pause has ended: %w", err)
	case isSuspended(row):
		return nil
	}
	// The pause ended before the job was suspended, so that Wake did not queue it.
	r.jobs.enqueue(ctx, &ent.SyncJob{ID: r.job, Attempt: r.attempt})
	return nil
}

// paused reports whether the connector of the job is paused.
func (r *Run) paused(ctx context.Context) (bool, error) {
	found, err := r.jobs.client.Connector.Query().Where(connector.ID(r.connector), suspended()).Exist(r.Context(ctx))
	if err != nil {
		return false, fmt.Errorf("read whether a connector is paused: %w", err)
	}
	return found, nil
}
