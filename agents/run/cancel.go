package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// cancelWait is how long the process that runs it is given to end a run by itself.
const cancelWait = 3 * time.Second

// Cancel ends a run of the viewer's, wherever it runs, and returns it as it is then; one that has ended stays as it is.
func (r *Runs) Cancel(ctx context.Context, id uuid.UUID) (*ent.AgentRun, error) {
	row, err := r.Get(ctx, id)
	if err != nil || !Open(row) {
		return row, err
	}
	if !r.stop(id, errCanceled) {
		r.publish(ctx, id, Cancel)
	}
	f := &follower{runs: r, run: id, row: row, news: make(chan struct{}, 1)}
	r.attach(f)
	defer r.detach(f)
	until := time.NewTimer(cancelWait)
	defer until.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-f.news:
		case <-tick.C:
		case <-until.C:
			waiting = false
		case <-ctx.Done():
			return nil, apierr.From(ctx.Err())
		}
		if row, err = r.Get(ctx, id); err != nil || !Open(row) {
			return row, err
		}
	}
	// Nobody runs it, or nobody who hears.
	if _, err := r.endRows(ctx, "r.id = $1::uuid", id.String(), "CANCELED", Failure{apierr.Unavailable, "The run was canceled."}); err != nil {
		return nil, apierr.Wrap("cancel a run", err)
	}
	return r.Get(ctx, id)
}

// Sweep ends the runs whose process has not been heard of for a while, and returns how many.
func (r *Runs) Sweep(ctx context.Context) (int, error) {
	return r.endRows(ctx, "r.heartbeat_at < now() - make_interval(secs => $1::float8)", r.opt.Stale.Seconds(), "FAILED",
		Failure{apierr.Unavailable, "The server that ran this went away. Run it again."})
}

func (r *Runs) sweep(ctx context.Context) {
	switch n, err := r.Sweep(ctx); {
	case err != nil:
		r.opt.Log.WarnContext(ctx, "lost runs could not be looked after; the next round will", slog.Any("error", err))
	case n > 0:
		r.opt.Log.WarnContext(ctx, "runs were lost with the process that ran them", slog.Int("runs", n))
	}
}

// endRows ends running rows that a condition names, each with a last event.
func (r *Runs) endRows(ctx context.Context, condition string, value any, status string, told Failure) (int, error) {
	data, err := json.Marshal(told)
	if err != nil {
		return 0, err
	}
	rows, err := r.opt.Ent.QueryContext(ctx, `with open as (
			select r.id from agent_runs r where r.status = 'RUNNING' and `+condition+` order by r.id limit 100 for no key update skip locked),
		ended as (
			update agent_runs r set status = $2::text, error = $3::text, finished_at = now(), updated_at = now() from open where r.id = open.id
			returning r.id, r.workspace_id)
		insert into agent_run_events (workspace_id, run_id, seq, type, data)
		select workspace_id, id, (select coalesce(max(e.seq), 0) + 1 from agent_run_events e where e.run_id = ended.id), $4::text, $5::jsonb from ended
		returning run_id::text`, value, status, told.Message, TypeError, string(data))
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
		r.tellAll(ctx, id)
	}
	return len(ended), nil
}

// beat says of every run of this process that it is alive, and ends those that were ended elsewhere.
func (r *Runs) beat(ctx context.Context) {
	r.mu.Lock()
	ids := make([]string, 0, len(r.active))
	for id := range r.active {
		ids = append(ids, id.String())
	}
	r.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	alive, err := r.beatRows(ctx, ids)
	if err != nil {
		r.opt.Log.WarnContext(ctx, "the heartbeat of runs was not written; the next will be", slog.Any("error", err))
		return
	}
	for _, id := range ids {
		if !alive[id] {
			r.stop(uuid.MustParse(id), errElsewhere)
		}
	}
}

func (r *Runs) beatRows(ctx context.Context, ids []string) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(uuid.Nil)), r.opt.Beat)
	defer cancel()
	rows, err := r.opt.Ent.QueryContext(ctx, `update agent_runs set heartbeat_at = now() where id = any ($1::uuid[]) and status = 'RUNNING' returning id::text`,
		"{"+strings.Join(ids, ",")+"}")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	alive := make(map[string]bool, len(ids))
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		alive[id] = true
	}
	return alive, rows.Err()
}
