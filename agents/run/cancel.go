package run

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/viewer"
)

// cancelWait is how long Cancel waits for the process of a run to end it.
const cancelWait = 3 * time.Second

// Cancel ends a run of the viewer in any process and returns its final state. A
// run that has ended stays unchanged.
func (r *Runs) Cancel(ctx context.Context, id uuid.UUID) (*ent.AgentRun, error) {
	row, err := r.Get(ctx, id)
	if err != nil || !IsOpen(row) {
		return row, err
	}
	if row.Status != agentrun.StatusRunning { // no process has it
		if row, err = r.endNow(ctx, id); err != nil || !IsOpen(row) {
			return row, err
		}
	}
	if !r.cancelLocal(id, errCanceled) {
		r.publish(ctx, id, journal.SignalCancel)
	}
	f := &follower{runs: r, run: id, row: row, wake: make(chan struct{}, 1)}
	r.addFollower(f)
	defer r.removeFollower(f)
	timeout := time.NewTimer(cancelWait)
	defer timeout.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-f.wake:
		case <-tick.C:
		case <-timeout.C:
			waiting = false
		case <-ctx.Done():
			return nil, apierr.From(ctx.Err())
		}
		if row, err = r.Get(ctx, id); err != nil || !IsOpen(row) {
			return row, err
		}
	}
	// The process of the run is gone or does not respond.
	return r.endNow(ctx, id)
}

// endNow cancels an open run whatever its process does.
func (r *Runs) endNow(ctx context.Context, id uuid.UUID) (*ent.AgentRun, error) {
	if _, err := r.endRuns(ctx, "r.id = $1::uuid", id.String(), "CANCELED", Failure{Code: apierr.Unavailable, Message: "The run was canceled."}); err != nil {
		return nil, apierr.Wrap("cancel a run", err)
	}
	row, err := r.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return row, apierr.Wrap("cancel the approvals of a run", r.opt.Approvals.CancelRun(ent.NewTxContext(ctx, nil), r.opt.Ent, row))
}

// maxAttempts bounds the processes that work on a run, so that a run that kills them
// ends.
const maxAttempts = 100

// Sweep leaves the runs whose process has sent no heartbeat for HeartbeatTimeout to
// other processes, ends those that were lost too often, and returns the number of
// both.
func (r *Runs) Sweep(ctx context.Context) (int, error) {
	const lost = "r.status = 'RUNNING' and r.heartbeat_at < now() - make_interval(secs => $1::float8)"
	ended, err := r.endRuns(ctx, lost+fmt.Sprintf(" and r.attempt >= %d", maxAttempts), r.opt.HeartbeatTimeout.Seconds(), "FAILED",
		Failure{Code: apierr.Unavailable, Message: "The servers that ran this went away again and again. Run it again."})
	if err != nil {
		return ended, err
	}
	queued, err := r.takeQueued(ctx, `with lost as (select r.id from agent_runs r where `+lost+` order by r.id limit 100 for no key update skip locked)
		update agent_runs r set status = 'QUEUED', updated_at = now() from lost where r.id = lost.id returning r.workspace_id::text, r.id::text, r.attempt`,
		r.opt.HeartbeatTimeout.Seconds())
	for _, t := range queued {
		r.enqueue(ctx, t.Workspace, t.Run, t.Attempt)
	}
	return ended + len(queued), err
}

func (r *Runs) sweepAndLog(ctx context.Context) {
	switch n, err := r.Sweep(ctx); {
	case err != nil:
		r.opt.Log.WarnContext(ctx, "lost runs not queued, will retry", slog.Any("error", err))
	case n > 0:
		r.opt.Log.WarnContext(ctx, "lost runs queued", slog.Int("runs", n))
	}
}

// expireAndLog ends the approvals whose time is over.
func (r *Runs) expireAndLog(ctx context.Context) {
	if _, err := r.opt.Approvals.Expire(ctx); err != nil {
		r.opt.Log.WarnContext(ctx, "expired approvals not ended, will retry", slog.Any("error", err))
	}
}

// endRuns ends the open rows that a condition selects and appends a final event to
// each.
func (r *Runs) endRuns(ctx context.Context, condition string, value any, status string, failure Failure) (int, error) {
	data, err := json.Marshal(failure)
	if err != nil {
		return 0, err
	}
	rows, err := r.opt.Ent.QueryContext(ctx, `with open as (
			select r.id from agent_runs r where r.status in ('QUEUED', 'RUNNING', 'WAITING') and `+condition+` order by r.id limit 100 for no key update skip locked),
		ended as (
			update agent_runs r set status = $2::text, error = $3::text, finished_at = now(), updated_at = now(), waiting_since = null from open where r.id = open.id
			returning r.id, r.workspace_id)
		insert into agent_run_events (workspace_id, run_id, seq, type, data)
		select workspace_id, id, (select coalesce(max(e.seq), 0) + 1 from agent_run_events e where e.run_id = ended.id), $4::text, $5::jsonb from ended
		returning run_id::text`, value, status, failure.Message, TypeError, string(data))
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	var ended []uuid.UUID
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		if parsed, err := uuid.Parse(id); err == nil {
			ended = append(ended, parsed)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, id := range ended {
		r.notifyFollowers(ctx, id)
		if row, err := r.opt.Ent.AgentRun.Get(viewer.With(ent.NewTxContext(ctx, nil), viewer.System(uuid.Nil)), id); err == nil {
			r.ended(ctx, row)
		}
	}
	return len(ended), nil
}

// writeHeartbeats updates the heartbeats of this process's runs and cancels
// those that were ended or taken over elsewhere.
func (r *Runs) writeHeartbeats(ctx context.Context) {
	r.mu.Lock()
	ids := make([]string, 0, len(r.active))
	attempts := make(map[string]int, len(r.active))
	for id, a := range r.active {
		ids = append(ids, id.String())
		attempts[id.String()] = a.attempt
	}
	r.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	alive, err := r.updateHeartbeats(ctx, ids)
	if err != nil {
		r.opt.Log.WarnContext(ctx, "run heartbeats not written, will retry", slog.Any("error", err))
		return
	}
	for _, id := range ids {
		if alive[id] != attempts[id] {
			r.cancelLocal(uuid.MustParse(id), errEndedElsewhere)
		}
	}
}

func (r *Runs) updateHeartbeats(ctx context.Context, ids []string) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(uuid.Nil)), r.opt.HeartbeatInterval)
	defer cancel()
	rows, err := r.opt.Ent.QueryContext(ctx, `update agent_runs set heartbeat_at = now() where id = any ($1::uuid[]) and status = 'RUNNING' returning id::text, attempt`,
		"{"+strings.Join(ids, ",")+"}")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	alive := make(map[string]int, len(ids))
	for rows.Next() {
		var id string
		var attempt int
		if err := rows.Scan(&id, &attempt); err != nil {
			return nil, err
		}
		alive[id] = attempt
	}
	return alive, rows.Err()
}
