package run

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxPending bounds the runs that Pending returns.
const maxPending = 200

// Pending returns a task for each queued run, the oldest first.
func (r *Runs) Pending(ctx context.Context) ([]queue.Run, error) {
	return r.takeQueued(ctx, "select workspace_id::text, id::text, attempt from agent_runs where status = 'QUEUED' order by updated_at limit $1::bigint", maxPending)
}

// takeQueued returns the tasks that a statement returns.
func (r *Runs) takeQueued(ctx context.Context, statement string, args ...any) ([]queue.Run, error) {
	rows, err := r.opt.Ent.QueryContext(viewer.With(ctx, viewer.System(uuid.Nil)), statement, args...)
	if err != nil {
		return nil, fmt.Errorf("read queued runs: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []queue.Run
	for rows.Next() {
		var workspace, id string
		var t queue.Run
		if err := rows.Scan(&workspace, &id, &t.Attempt); err != nil {
			return nil, fmt.Errorf("read queued runs: %w", err)
		}
		if t.Workspace, err = uuid.Parse(workspace); err != nil {
			return nil, fmt.Errorf("read queued runs: %w", err)
		}
		if t.Run, err = uuid.Parse(id); err != nil {
			return nil, fmt.Errorf("read queued runs: %w", err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// Resume puts a run into the queue of the workers, if its row is queued.
func (r *Runs) Resume(ctx context.Context, id uuid.UUID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.StoreTimeout)
	defer cancel()
	tasks, err := r.takeQueued(ctx, "select workspace_id::text, id::text, attempt from agent_runs where status = 'QUEUED' and id = $1::uuid", id.String())
	if err != nil {
		r.opt.Log.WarnContext(ctx, "run not queued, a sweep will", slog.Any("run", id), slog.Any("error", err))
	}
	for _, t := range tasks {
		r.enqueue(ctx, t.Workspace, t.Run, t.Attempt)
	}
}

// enqueue brings a queued run to the workers. A failure is harmless: they look for
// queued rows.
func (r *Runs) enqueue(ctx context.Context, workspace, id uuid.UUID, attempt int) {
	if err := r.opt.Queue.Enqueue(ctx, queue.Run{Workspace: workspace, Run: id, Attempt: attempt}); err != nil {
		r.opt.Log.WarnContext(ctx, "run not queued, a sweep will", slog.Any("run", id), slog.Any("error", err))
	}
}

// Continue claims a queued run and continues it, or begins it, in a goroutine of
// r's. It does nothing if the run is not queued any more, or if this process has
// enough runs: then another one takes it, or this one later.
func (r *Runs) Continue(ctx context.Context, t queue.Run) error {
	r.mu.Lock()
	continued := 0
	for _, a := range r.active {
		if a.continued {
			continued++
		}
	}
	if r.closed || continued >= r.opt.MaxContinued {
		r.mu.Unlock()
		return nil
	}
	r.goroutines.Add(1) // before Close waits
	r.mu.Unlock()
	started := false
	defer func() {
		if !started {
			r.goroutines.Done()
		}
	}()
	system := viewer.With(ent.NewTxContext(ctx, nil), viewer.System(t.Workspace))
	claimed, err := r.opt.Ent.ExecContext(system, `update agent_runs set status = 'RUNNING', attempt = attempt + 1, heartbeat_at = now(), updated_at = now(), waiting_since = null
		where id = $1::uuid and workspace_id = $2::uuid and attempt = $3::bigint and status = 'QUEUED'`, t.Run.String(), t.Workspace.String(), t.Attempt)
	if err != nil {
		return fmt.Errorf("claim a run: %w", err)
	}
	if n, err := claimed.RowsAffected(); err != nil || n == 0 {
		return err
	}
	row, err := r.opt.Ent.AgentRun.Get(system, t.Run)
	if err != nil {
		return fmt.Errorf("read a run: %w", err)
	}
	w := &work{runs: r, row: row, message: row.Message}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w.active = &activeRun{id: row.ID, attempt: row.Attempt, cancel: cancel, continued: true}
	r.mu.Lock()
	r.active[row.ID] = w.active
	closed := r.closed
	r.mu.Unlock()
	if closed {
		cancel(errShuttingDown)
	}
	started = true
	go func() {
		defer r.goroutines.Done()
		defer cancel(nil)
		failure := endOr(base, w.prepare(base))
		if failure != nil {
			w.journal = r.newJournal(row, max(w.seq, 1))
			w.finish(viewer.With(base, viewer.System(t.Workspace)), failure)
			r.forget(w.active)
			return
		}
		w.run(viewer.With(base, w.viewer))
	}()
	return nil
}

// prepare reads the person, the agent and the state of a run. Its rights are those of
// the person now.
func (w *work) prepare(ctx context.Context) error {
	r, row := w.runs, w.row
	system := viewer.With(ctx, viewer.System(row.WorkspaceID))
	var err error
	if w.seq, err = r.lastEvent(system, row.ID); err != nil {
		return err
	}
	if w.viewer, err = r.opt.Viewers(system, row.WorkspaceID, row.SubjectID); err != nil {
		if apierr.From(err).Code == apierr.CodeNotFound {
			return apierr.New(apierr.Forbidden, "The person for whom this ran is no longer a member of the workspace.")
		}
		return fmt.Errorf("read the person of a run: %w", err)
	}
	if w.agent, err = r.opt.Ent.Agent.Get(system, row.AgentID); err != nil {
		return fmt.Errorf("read the agent of a run: %w", err)
	}
	if w.scope, err = scopeOf(w.viewer, w.agent); err != nil {
		return fmt.Errorf("scope of a run: %w", err)
	}
	w.model = r.model(ctx, w.agent)
	saved, found, err := r.loadState(system, row.ID)
	if err != nil {
		return err
	}
	if found {
		w.state, w.content, w.citations = loop.State(saved.Loop), saved.Content, chat.RestoreCitations(saved.Citations)
		w.decisions, err = r.decisions(system, row)
		return err
	}
	w.history, err = r.history(viewer.With(ctx, w.viewer), w.viewer, row.AgentID, row.ConversationID, row.ID)
	return err
}

// lastEvent returns the number of the last event of a run.
func (r *Runs) lastEvent(ctx context.Context, id uuid.UUID) (int64, error) {
	rows, err := r.opt.Ent.QueryContext(ctx, "select coalesce(max(seq), 0) from agent_run_events where run_id = $1::uuid", id.String())
	if err != nil {
		return 0, fmt.Errorf("read the last event: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var seq int64
	for rows.Next() {
		if err := rows.Scan(&seq); err != nil {
			return 0, fmt.Errorf("read the last event: %w", err)
		}
	}
	return seq, rows.Err()
}

// forget removes a run from those of this process.
func (r *Runs) forget(a *activeRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.ended = true
	if a.timer != nil {
		a.timer.Stop()
	}
	if r.active[a.id] == a {
		delete(r.active, a.id)
	}
}

// ended reports the end of a run.
func (r *Runs) ended(ctx context.Context, row *ent.AgentRun) {
	if r.opt.Ended == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	r.opt.Ended(ctx, row)
}
