package syncjob

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The values of the column waits_for.
const (
	waitsForRetry = "retry"
	waitsForPace  = "pace"
)

// A WaitReason says what an open job waits for.
type WaitReason string

// The reasons.
const (
	WaitNothing WaitReason = ""       // a worker has it, or it has ended
	WaitTurn    WaitReason = "TURN"   // other jobs are first
	WaitPace    WaitReason = "PACE"   // the platform asked to wait
	WaitRetry   WaitReason = "RETRY"  // a failure is retried later
	WaitWorker  WaitReason = "WORKER" // no worker is running
	WaitResume  WaitReason = "RESUME" // its connector is paused
)

// A Wait is what an open job waits for.
type Wait struct {
	Reason WaitReason
	Until  time.Time // for a pace and a retry
}

// idleAfter is how long a job is due before it counts as waiting for a worker. A
// worker without work takes it within seconds.
const idleAfter = 15 * time.Second

// WaitingFor returns what a job waits for, whose row the viewer has read.
func (j *Jobs) WaitingFor(ctx context.Context, row *ent.SyncJob) (Wait, error) {
	now := j.now()
	alive := now.Add(-heartbeatMaxAge)
	switch {
	case !Open(row.Status):
		return Wait{}, nil
	case row.TurnAt == nil && row.HeartbeatAt.After(alive):
		return Wait{}, nil
	}
	ctx = viewer.With(outsideTransaction(ctx), viewer.System(uuid.Nil))
	paused, err := j.client.Connector.Query().Where(entconnector.ID(row.ConnectorID), suspended()).Exist(ctx)
	switch {
	case err != nil:
		return Wait{}, apierr.Wrap("read what a sync job waits for", err)
	case paused:
		return Wait{Reason: WaitResume}, nil
	case row.TurnAt == nil:
		return Wait{Reason: WaitWorker}, nil // the one that had it does not answer
	case row.TurnAt.After(now) && row.WaitsFor == waitsForPace:
		return Wait{Reason: WaitPace, Until: *row.TurnAt}, nil
	case row.TurnAt.After(now):
		return Wait{Reason: WaitRetry, Until: *row.TurnAt}, nil
	case now.Sub(*row.TurnAt) < idleAfter:
		return Wait{Reason: WaitTurn}, nil
	}
	busy, err := j.client.SyncJob.Query().Where(entjob.StatusEQ(entjob.StatusRunning), entjob.TurnAtIsNil(), entjob.HeartbeatAtGT(alive)).Exist(ctx)
	switch {
	case err != nil:
		return Wait{}, apierr.Wrap("read what a sync job waits for", err)
	case busy:
		return Wait{Reason: WaitTurn}, nil
	default:
		return Wait{Reason: WaitWorker}, nil
	}
}
