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

// A connector that is paused, and not disabled, keeps its open job: it rests,
// no worker takes it, and it goes on from its cursor once the pause is over.

// ErrPaused says that the connector of a job was paused.
var ErrPaused = errors.New("the connector was paused")

// resting are the connectors whose open jobs wait for the end of a pause.
func resting() predicate.Connector {
	return connector.And(connector.StatusEQ(connector.StatusPaused), connector.Enabled(true))
}

func rests(row *ent.Connector) bool { return row.Status == connector.StatusPaused && row.Enabled }

// Pause lets no sync of a connector run. A job that runs stops at its next item
// and keeps its place. A connector that is paused or disabled is answered as it
// is. The errors are apierr.
func (j *Jobs) Pause(ctx context.Context, connectorID uuid.UUID) (*ent.Connector, error) {
	client := transaction.Client(ctx, j.client)
	row, err := lockedConnector(ctx, client, connectorID)
	if err != nil || row.Status == connector.StatusPaused {
		return row, err
	}
	if row, err = row.Update().SetStatus(connector.StatusPaused).Save(ctx); err != nil {
		return nil, apierr.Wrap("pause the connector", err)
	}
	open, err := openJob(ctx, client, connectorID)
	if err != nil {
		return nil, err
	}
	if open != nil {
		news := SnapshotOf(open)
		news.Pausing = true
		transaction.AfterCommit(ctx, func(ctx context.Context) { j.publish(ctx, Event{Snapshot: news}) })
	}
	return row, nil
}

// Resume ends a pause, also that of a connector that was disabled. A job that
// rests goes on where it was. A connector that is not paused is answered as it is.
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

// Wake queues the job of a connector that rested until its pause was over.
func (j *Jobs) Wake(ctx context.Context, connectorID uuid.UUID) error {
	open, err := openJob(ctx, transaction.Client(ctx, j.client), connectorID)
	if err != nil || open == nil {
		return err
	}
	// A worker that holds the job as yet queues it when it lets go.
	if open.TurnAt != nil {
		// The sweeper is not to take it for abandoned meanwhile.
		err := transaction.Client(ctx, j.client).SyncJob.Update().Where(entjob.ID(open.ID), entjob.Attempt(open.Attempt)).
			SetHeartbeatAt(j.now()).Exec(ctx)
		if err != nil {
			return apierr.Wrap("wake a sync job that rests", err)
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

// Rest lets go of the job until the pause of its connector is over. It is
// queued, as far as people see, and keeps its cursor and its counters.
func (r *Run) Rest(ctx context.Context, retries int) error {
	err := r.save(ctx, "let a sync job rest", func(u *ent.SyncJobUpdate) {
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
		return fmt.Errorf("read whether a pause is over: %w", err)
	case rests(row):
		return nil
	}
	// The pause was over before the job rested, and nobody else queues it.
	r.jobs.enqueue(ctx, &ent.SyncJob{ID: r.job, Attempt: r.attempt})
	return nil
}

// paused reports whether the connector of the job was paused.
func (r *Run) paused(ctx context.Context) (bool, error) {
	found, err := r.jobs.client.Connector.Query().Where(connector.ID(r.connector), resting()).Exist(r.Context(ctx))
	if err != nil {
		return false, fmt.Errorf("read whether a sync job is to rest: %w", err)
	}
	return found, nil
}
