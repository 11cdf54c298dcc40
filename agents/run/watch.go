package run

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/live/journal"
)

// finalEventTimeout bounds the wait of a follower for the final event while r closes.
const finalEventTimeout = time.Second

// follower is one reader of one run.
type follower struct {
	runs        *Runs
	run         uuid.UUID
	row         *ent.AgentRun
	wake        chan struct{}
	out         chan Event
	isLocal     bool      // the run belongs to this process
	announcedAt time.Time // last time the run's process was told about this follower
}

// Watch follows a run of the viewer from the event after the given number; 0
// means all events. The channel is closed after the final event, when ctx ends,
// when the run is deleted and when r is closed. A run with a follower is not
// canceled for lack of one.
func (r *Runs) Watch(ctx context.Context, id uuid.UUID, after int64) (<-chan Event, error) {
	if after < 0 {
		return nil, apierr.Invalid("after", "must be 0 or more")
	}
	row, err := r.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	f := &follower{runs: r, run: id, row: row, wake: make(chan struct{}, 1), out: make(chan Event)}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	r.goroutines.Add(1)
	r.mu.Unlock()
	r.addFollower(f)
	go func() {
		defer r.goroutines.Done()
		defer close(f.out)
		defer r.removeFollower(f)
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

// EventsOf returns the events after a number of several runs of a workspace, at
// most limit of each, in one statement. The caller has checked that the viewer
// may read the runs. Adjacent pieces of the answer are joined into one event
// with the number of the last.
func (r *Runs) EventsOf(ctx context.Context, workspace uuid.UUID, runs []uuid.UUID, after int64, limit int) (map[uuid.UUID][]Event, error) {
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
		workspace.String(), "{"+strings.Join(ids, ",")+"}", strconv.FormatInt(after, 10), TypeContent, strconv.Itoa(limit))
	if err != nil {
		return nil, apierr.Wrap("read the events of runs", err)
	}
	defer func() { _ = rows.Close() }()
	out := make(map[uuid.UUID][]Event, len(runs))
	for rows.Next() {
		var e Event
		var id, data string
		if err := rows.Scan(&id, &e.Seq, &e.Type, &data, &e.CreatedAt); err != nil {
			return nil, apierr.Wrap("read an event", err)
		}
		run, err := uuid.Parse(id)
		if err != nil {
			return nil, apierr.Wrap("read an event", err)
		}
		e.Data = json.RawMessage(data)
		if last := len(out[run]) - 1; e.Type == TypeContent && last >= 0 && out[run][last].Type == TypeContent {
			out[run][last] = joinContent(out[run][last], e)
			continue
		}
		out[run] = append(out[run], e)
	}
	return out, apierr.Wrap("read the events of runs", rows.Err())
}

func joinContent(a, b Event) Event {
	var first, second Content
	if json.Unmarshal(a.Data, &first) != nil || json.Unmarshal(b.Data, &second) != nil {
		return b
	}
	b.Data, _ = json.Marshal(Content{Content: first.Content + second.Content}) // a string always encodes
	return b
}

// follow sends the events after a number.
func (f *follower) follow(ctx context.Context, after int64) {
	r := f.runs
	journal.Follow(ctx, journal.Reader{
		Read: func(ctx context.Context, after int64, limit int) ([]journal.Event, error) {
			return events.Read(ctx, r.opt.Ent, streamOf(f.row), after, limit)
		},
		Open: f.isOpen, Last: func(e journal.Event) bool { return Event(e).IsFinal() }, Announce: f.announce, AwaitLast: f.awaitFinalEvent,
		Wake: f.wake, Closing: r.closing, Every: min(r.opt.PollInterval, r.opt.GracePeriod/5), Log: r.opt.Log.With(slog.Any("run", f.run)),
	}, after, f.out, func(e journal.Event) Event { return Event(e) })
}

// announce tells the process of a run that it has a follower here.
func (f *follower) announce(ctx context.Context) {
	if !f.isLocal && time.Since(f.announcedAt) > f.runs.opt.GracePeriod/6 {
		f.announcedAt = time.Now()
		f.runs.publish(ctx, f.run, journal.SignalWatched)
	}
}

// awaitFinalEvent waits up to a second for the final event of a run that Close
// ends, and reports whether to read events again.
func (f *follower) awaitFinalEvent(ctx context.Context) bool {
	if !f.isLocal {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, finalEventTimeout)
	defer cancel()
	select {
	case <-f.wake:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *follower) isOpen(ctx context.Context) (bool, error) {
	row, err := f.runs.opt.Ent.AgentRun.Query().Where(agentrun.ID(f.run)).Select(agentrun.FieldStatus).Only(ent.NewTxContext(ctx, nil))
	if ent.IsNotFound(err) {
		return false, apierr.NotFound("Run")
	}
	if err != nil {
		return false, err
	}
	return IsOpen(row), nil
}
