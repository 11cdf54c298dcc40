package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/viewer"
)

// savedRun is the state with which a run continues in another process.
type savedRun struct {
	Loop      json.RawMessage    `json:"loop"`
	Citations chat.CitationState `json:"citations"`
	// Content is the number of characters of the answer's pieces so far.
	Content int `json:"content"`
}

// The tables whose columns are sealed.
const (
	statesTable  = "agent_run_states"
	effectsTable = "agent_run_effects"
)

// maxState is the size of the largest state that is kept, in bytes.
const maxState = 16 << 20

var errStateTooLarge = errors.New("the state of the run is too large to keep")

// keeper keeps a run in the database, sealed. It implements loop.Keeper. Its writes
// have no effect once another process has taken the run over.
type keeper struct{ work *work }

var _ loop.Keeper = keeper{}

// Save implements loop.Keeper.
func (k keeper) Save(ctx context.Context, state loop.State) error {
	return k.work.saveState(ctx, k.work.runs.opt.Ent, state)
}

// saveState stores the state of a run.
func (w *work) saveState(ctx context.Context, db journal.Execer, state loop.State) error {
	data, err := json.Marshal(savedRun{Loop: json.RawMessage(state), Citations: w.citations.State(), Content: w.content})
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	if len(data) > maxState {
		return errStateTooLarge
	}
	sealed, err := w.runs.opt.Secrets.Seal(data, secret.AAD(statesTable, w.row.ID.String()))
	if err != nil {
		return fmt.Errorf("seal the state: %w", err)
	}
	result, err := db.ExecContext(ctx, `insert into agent_run_states (workspace_id, run_id, state)
		select workspace_id, id, $3::bytea from agent_runs where id = $1::uuid and attempt = $2::bigint and status = 'RUNNING'
		on conflict (run_id) do update set state = excluded.state, updated_at = now()`, w.row.ID.String(), w.row.Attempt, sealed)
	if err != nil {
		return fmt.Errorf("store the state: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errEndedElsewhere
	}
	return nil
}

// loadState returns the kept state of a run, or false if there is none.
func (r *Runs) loadState(ctx context.Context, id uuid.UUID) (savedRun, bool, error) {
	var saved savedRun
	sealed, found, err := queryBytes(ctx, r.opt.Ent, "select state from agent_run_states where run_id = $1::uuid", id.String())
	if err != nil || !found {
		return saved, false, err
	}
	data, err := r.opt.Secrets.Open(sealed, secret.AAD(statesTable, id.String()))
	if err != nil {
		return saved, false, fmt.Errorf("open the state: %w", err)
	}
	if err := json.Unmarshal(data, &saved); err != nil {
		return saved, false, fmt.Errorf("decode the state: %w", err)
	}
	return saved, true, nil
}

// queryBytes returns the only column of the first row.
func queryBytes(ctx context.Context, db journal.Querier, query string, args ...any) (value []byte, found bool, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = rows.Close() }()
	if rows.Next() {
		found = true
		if err := rows.Scan(&value); err != nil {
			return nil, false, err
		}
	}
	return value, found, rows.Err()
}

// Begin implements loop.Keeper.
func (k keeper) Begin(ctx context.Context, call loop.Effect) (loop.EffectStatus, error) {
	r, row := k.work.runs, k.work.row
	ctx, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(row.WorkspaceID)), r.opt.StoreTimeout)
	defer cancel()
	result, err := r.opt.Ent.ExecContext(ctx, `insert into agent_run_effects (workspace_id, run_id, call_id, tool)
		select workspace_id, id, $3::text, $4::text from agent_runs where id = $1::uuid and attempt = $2::bigint and status = 'RUNNING'
		on conflict (run_id, call_id) do nothing`, row.ID.String(), row.Attempt, call.CallID, call.Tool)
	if err != nil {
		return loop.EffectStatus{}, fmt.Errorf("record that a call begins: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return loop.EffectStatus{}, err
	}
	sealed, found, err := queryBytes(ctx, r.opt.Ent, `select e.result from agent_run_effects e join agent_runs r on r.id = e.run_id
		where e.run_id = $1::uuid and e.call_id = $3::text and r.attempt = $2::bigint and r.status = 'RUNNING'`, row.ID.String(), row.Attempt, call.CallID)
	switch {
	case err != nil:
		return loop.EffectStatus{}, fmt.Errorf("read what is known of a call: %w", err)
	case !found:
		return loop.EffectStatus{}, errEndedElsewhere
	case sealed == nil:
		return loop.EffectStatus{Begun: true}, nil
	}
	known := loop.EffectStatus{Done: true}
	data, err := r.opt.Secrets.Open(sealed, effectAAD(row.ID, call.CallID))
	if err == nil {
		err = json.Unmarshal(data, &known.Result)
	}
	if err != nil {
		return loop.EffectStatus{}, fmt.Errorf("read the result of a call: %w", err)
	}
	return known, nil
}

// End implements loop.Keeper. The result counts even if the run has ended meanwhile.
func (k keeper) End(ctx context.Context, call loop.Effect) error {
	r, row := k.work.runs, k.work.row
	ctx, cancel := context.WithTimeout(viewer.With(ctx, viewer.System(row.WorkspaceID)), r.opt.StoreTimeout)
	defer cancel()
	data, err := json.Marshal(call.Result)
	if err != nil {
		return fmt.Errorf("encode the result of a call: %w", err)
	}
	sealed, err := r.opt.Secrets.Seal(data, effectAAD(row.ID, call.CallID))
	if err != nil {
		return fmt.Errorf("seal the result of a call: %w", err)
	}
	if _, err := r.opt.Ent.ExecContext(ctx, `update agent_run_effects set done_at = now(), result = $3::bytea where run_id = $1::uuid and call_id = $2::text`,
		row.ID.String(), call.CallID, sealed); err != nil {
		return fmt.Errorf("record the result of a call: %w", err)
	}
	return nil
}

func effectAAD(run uuid.UUID, call string) []byte {
	return secret.AAD(effectsTable, run.String()+"/"+call)
}
