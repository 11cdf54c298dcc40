package run

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/internal/apierr"
)

// execer and querier are ent's client and its transactions.
type (
	execer interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}
	querier interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
)

// page is how many events are read at once.
const page = 500

// follower is one reader of one run.
type follower struct {
	runs *Runs
	run  uuid.UUID
	row  *ent.AgentRun
	news chan struct{}
	out  chan Event
	here bool      // the run is one of this process
	told time.Time // when its process was last told that somebody is there
}

// Watch follows a run of the viewer's from the event behind the given number on; 0 gives all. The channel is closed after
// the last event, when ctx ends, when the run is deleted and when r is closed. While somebody follows a run it goes on.
func (r *Runs) Watch(ctx context.Context, id uuid.UUID, after int64) (<-chan Event, error) {
	if after < 0 {
		return nil, apierr.Invalid("after", "must be 0 or more")
	}
	row, err := r.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	f := &follower{runs: r, run: id, row: row, news: make(chan struct{}, 1), out: make(chan Event)}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	r.working.Add(1)
	r.mu.Unlock()
	r.attach(f)
	go func() {
		defer r.working.Done()
		defer close(f.out)
		defer r.detach(f)
		f.follow(ctx, after)
	}()
	return f.out, nil
}

// Get reads a run of the viewer's.
func (r *Runs) Get(ctx context.Context, id uuid.UUID) (*ent.AgentRun, error) {
	row, err := r.opt.Ent.AgentRun.Get(ent.NewTxContext(ctx, nil), id)
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("Run")
	}
	if err != nil {
		return nil, apierr.Wrap("read a run", err)
	}
	return row, nil
}

// EventsOf reads the events behind a number, at most so many of each, of runs of a workspace that were read for the viewer, in
// one statement. Pieces of the answer that follow each other are joined to one event, with the number of the last.
func (r *Runs) EventsOf(ctx context.Context, workspace uuid.UUID, runs []uuid.UUID, after int64, most int) (map[uuid.UUID][]Event, error) {
	ids := make([]string, len(runs))
	for i, id := range runs {
		ids[i] = id.String()
	}
	rows, err := r.opt.Ent.QueryContext(ctx, `select run_id::text, seq, type, data::text, created_at from (
			select e.*, sum(begins) over (partition by run_id order by seq) as number from (
				select run_id, seq, type, data, created_at,
					case when type = $4::text and lag(type) over (partition by run_id order by seq) = $4::text then 0 else 1 end as begins
				from agent_run_events where workspace_id = $1::uuid and run_id = any ($2::text::uuid[]) and seq > $3::bigint) e) e
		where number <= $5::bigint order by run_id, seq`,
		workspace.String(), "{"+strings.Join(ids, ",")+"}", strconv.FormatInt(after, 10), TypeContent, strconv.Itoa(most))
	if err != nil {
		return nil, apierr.Wrap("read the events of runs", err)
	}
	defer func() { _ = rows.Close() }()
	out := make(map[uuid.UUID][]Event, len(runs))
	for rows.Next() {
		var e Event
		var id, data string
		if err := rows.Scan(&id, &e.Seq, &e.Type, &data, &e.At); err != nil {
			return nil, apierr.Wrap("read an event", err)
		}
		run, err := uuid.Parse(id)
		if err != nil {
			return nil, apierr.Wrap("read an event", err)
		}
		e.Data = json.RawMessage(data)
		if last := len(out[run]) - 1; e.Type == TypeContent && last >= 0 && out[run][last].Type == TypeContent {
			out[run][last] = joined(out[run][last], e)
			continue
		}
		out[run] = append(out[run], e)
	}
	return out, apierr.Wrap("read the events of runs", rows.Err())
}

func joined(a, b Event) Event {
	var first, second Content
	if json.Unmarshal(a.Data, &first) != nil || json.Unmarshal(b.Data, &second) != nil {
		return b
	}
	b.Data, _ = json.Marshal(Content{Content: first.Content + second.Content}) // a string always can
	return b
}

func (f *follower) follow(ctx context.Context, seq int64) {
	tick := time.NewTicker(min(f.runs.opt.Poll, f.runs.opt.Grace/5))
	defer tick.Stop()
	for {
		f.watching(ctx)
		open, err := f.open(ctx)
		var events []Event
		if err == nil {
			events, err = read(ctx, f.runs.opt.Ent, f.row, seq, page)
		}
		switch {
		case ctx.Err() != nil || apierr.From(err).Code == apierr.CodeNotFound:
			return
		case err != nil:
			f.runs.opt.Log.WarnContext(ctx, "a followed run cannot be read at the moment", slog.Any("run", f.run), slog.Any("error", err))
		case len(events) == 0 && !open:
			return // what was there when it ended has been read
		}
		for _, e := range events {
			if !f.send(ctx, e, tick.C) {
				return
			}
			if seq = e.Seq; e.Last() {
				return
			}
		}
		if len(events) == page {
			continue
		}
		select {
		case <-f.news:
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-f.runs.closing:
			if !f.lastCall(ctx) {
				return
			}
		}
	}
}

// watching tells the process of a run, where that is another one, that somebody is there.
func (f *follower) watching(ctx context.Context) {
	if !f.here && time.Since(f.told) > f.runs.opt.Grace/6 {
		f.told = time.Now()
		f.runs.publish(ctx, f.run, Watched)
	}
}

// send passes an event on, however slowly it is read; false when its reader left. The end of a run that closing ends is
// still passed on, if it is taken soon.
func (f *follower) send(ctx context.Context, e Event, tick <-chan time.Time) bool {
	closing := f.runs.closing
	var late <-chan time.Time
	for {
		select {
		case f.out <- e:
			return true
		case <-tick:
			f.watching(ctx)
		case <-closing:
			closing, late = nil, time.After(time.Second)
		case <-late:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// lastCall waits a moment for the end of a run that closing ends; false when there is none to come.
func (f *follower) lastCall(ctx context.Context) bool {
	if !f.here {
		return false
	}
	select {
	case <-f.news:
		return true
	case <-ctx.Done():
		return false
	case <-time.After(time.Second):
		return false
	}
}

func (f *follower) open(ctx context.Context) (bool, error) {
	row, err := f.runs.opt.Ent.AgentRun.Query().Where(agentrun.ID(f.run)).Select(agentrun.FieldStatus).Only(ent.NewTxContext(ctx, nil))
	if ent.IsNotFound(err) {
		return false, apierr.NotFound("Run")
	}
	if err != nil {
		return false, err
	}
	return Open(row), nil
}

// read reads events behind a number.
func read(ctx context.Context, db querier, row *ent.AgentRun, after int64, most int) ([]Event, error) {
	rows, err := db.QueryContext(ctx, `select seq, type, data::text, created_at from agent_run_events
		where run_id = $1::uuid and workspace_id = $2::uuid and seq > $3::bigint order by seq limit $4::bigint`,
		row.ID.String(), row.WorkspaceID.String(), strconv.FormatInt(after, 10), strconv.Itoa(most))
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var out []Event
	for rows.Next() {
		var e Event
		var data string
		if err := rows.Scan(&e.Seq, &e.Type, &data, &e.At); err != nil {
			return nil, fmt.Errorf("read an event: %w", err)
		}
		e.Data = json.RawMessage(data)
		out = append(out, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return out, nil
}
