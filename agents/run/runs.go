package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Memories recalls and stores the memories of agents; memory.Store implements
// it.
type Memories interface {
	// Recall returns the memories that matter for a text, for the viewer in
	// ctx.
	Recall(ctx context.Context, agent uuid.UUID, text string, limit int) ([]memory.Item, error)
	Remember(ctx context.Context, agent, run uuid.UUID, note memory.Note) (memory.Item, error)
}

// Integrations gives agents tools of other platforms.
type Integrations interface {
	// Tools returns the tools that an agent may use for the viewer of a run.
	Tools(ctx context.Context, v viewer.Viewer, agent *ent.Agent, run uuid.UUID) ([]loop.Tool, error)
}

// events describes the tables of runs and their events.
var events = journal.Table{
	Streams: "agent_runs", Open: "status = 'RUNNING'", Events: "agent_run_events", ID: "run_id", Text: TypeContent, Field: "content",
}

// streamOf returns the stream of a run in its attempt.
func streamOf(row *ent.AgentRun) journal.Stream {
	return journal.Stream{Workspace: row.WorkspaceID, ID: row.ID, Attempt: row.Attempt}
}

// newJournal returns the writer of a run's events that continues after the event of number
// seq.
func (r *Runs) newJournal(row *ent.AgentRun, seq int64) *journal.Writer {
	return journal.NewWriter(events, r.opt.Ent, streamOf(row), seq, journal.WriterOptions{
		BatchInterval: r.opt.BatchInterval, StoreTimeout: r.opt.StoreTimeout, Stored: func(ctx context.Context) { r.notifyFollowers(ctx, row.ID) },
	})
}

// Options configure Runs. Options without a default are required.
type Options struct {
	Ent          *ent.Client
	Models       *llm.Models
	Kit          *tools.Kit
	Bus          journal.Bus
	Memories     Memories     // nil: agents have no memories
	Integrations Integrations // nil: agents have the tools of Kit only
	// Queue brings queued runs to workers, Secrets seals what runs keep, and Viewers
	// returns the viewer of a member as of now, for a run that continues.
	Queue     queue.Enqueuer
	Secrets   *secret.Box
	Viewers   func(ctx context.Context, workspace, person uuid.UUID) (viewer.Viewer, error)
	Approvals Approvals
	// Oversight returns who decides about the calls of a run. Nil: its person.
	Oversight func(ctx context.Context, row *ent.AgentRun) (Oversight, error)
	// Ended is called after the end of a run was stored, and may be lost. Nil does
	// nothing.
	Ended    func(ctx context.Context, row *ent.AgentRun)
	Analyzer *analysis.Analyzer
	Limits   loop.Limits       // zero means loop.Standard()
	Tokens   *llm.TokenCounter // nil makes one
	Log      *slog.Logger      // nil discards
	Now      func() time.Time  // nil: the system's clock

	MaxPerPerson      int           // concurrent runs of a person: 4
	MaxPerWorkspace   int           // concurrent runs of a workspace: 50
	MaxContinued      int           // runs that this process continues at once: 8
	GracePeriod       time.Duration // of a run without followers: 10 s
	HeartbeatInterval time.Duration // 5 s
	HeartbeatTimeout  time.Duration // age of a heartbeat from which a run counts as lost: 30 s
	BatchInterval     time.Duration // between two events with pieces of the answer: 80 ms
	PollInterval      time.Duration // of followers, in case signals are lost: 2 s
	StoreTimeout      time.Duration // of storing the end of a run: 10 s
}

func (o Options) withDefaults() Options {
	if o.Limits == (loop.Limits{}) {
		o.Limits = loop.Standard()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tokens == nil {
		o.Tokens = llm.NewTokenCounter()
	}
	if o.Analyzer == nil {
		o.Analyzer = analysis.New()
	}
	for _, n := range []struct {
		field *int
		value int
	}{{&o.MaxPerPerson, 4}, {&o.MaxPerWorkspace, 50}, {&o.MaxContinued, 8}} {
		if *n.field <= 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.GracePeriod, 10 * time.Second}, {&o.HeartbeatInterval, 5 * time.Second}, {&o.HeartbeatTimeout, 30 * time.Second}, {&o.BatchInterval, 80 * time.Millisecond},
		{&o.PollInterval, 2 * time.Second}, {&o.StoreTimeout, 10 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}

// The causes of a run that ends without an answer.
var (
	errCanceled       = errors.New("the run was canceled")
	errAbandoned      = errors.New("the run has no follower")
	errShuttingDown   = errors.New("the process is closing")
	errEndedElsewhere = journal.ErrEnded
)

// Runs starts, continues and stores runs. It owns a goroutine for each run and
// follower and three of its own. Close ends them and waits for them.
type Runs struct {
	opt  Options
	loop *loop.Loop

	mu        sync.Mutex
	closed    bool
	active    map[uuid.UUID]*activeRun
	followers map[uuid.UUID]map[*follower]struct{}

	closing     chan struct{}
	goroutines  sync.WaitGroup
	unsubscribe func()
}

// activeRun is a run of this process.
type activeRun struct {
	id          uuid.UUID
	attempt     int
	continued   bool // needs no follower
	cancel      context.CancelCauseFunc
	gracePeriod time.Duration
	followers   int
	watchedAt   time.Time // when another process last announced a follower
	timer       *time.Timer
	ended       bool
}

// New returns the runs of a process and starts to look for lost runs of others.
// The end of ctx has no effect.
func New(ctx context.Context, o Options) (*Runs, error) {
	if o.Queue == nil || o.Secrets == nil || o.Viewers == nil || o.Approvals == nil {
		return nil, errors.New("agent runs: Queue, Secrets, Viewers and Approvals are required")
	}
	o = o.withDefaults()
	l, err := loop.New(loop.Options{Limits: o.Limits, Tokens: o.Tokens, Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("agent runs: %w", err)
	}
	r := &Runs{
		opt: o, loop: l, active: map[uuid.UUID]*activeRun{}, followers: map[uuid.UUID]map[*follower]struct{}{},
		closing: make(chan struct{}),
	}
	r.unsubscribe = o.Bus.Subscribe(ctx, r.handleSignal)
	ctx = context.WithoutCancel(ctx)
	r.goroutines.Go(func() { r.runPeriodically(ctx, r.opt.HeartbeatInterval, r.writeHeartbeats) })
	r.goroutines.Go(func() { r.runPeriodically(ctx, r.opt.HeartbeatTimeout/2, r.sweepAndLog) })
	r.goroutines.Go(func() { r.runPeriodically(ctx, r.opt.HeartbeatTimeout/2, r.expireAndLog) })
	return r, nil
}

// Close leaves the runs of this process to workers, ends those that no one could
// follow any more, and waits for them. Start fails afterwards. Close may be called more than once.
func (r *Runs) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		for _, a := range r.active {
			a.cancel(errShuttingDown)
		}
		close(r.closing)
	}
	r.mu.Unlock()
	r.goroutines.Wait()
	r.unsubscribe()
	r.loop.Close()
}

// runPeriodically calls do at an interval until Close.
func (r *Runs) runPeriodically(ctx context.Context, interval time.Duration, do func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-r.closing:
			return
		case <-tick.C:
			do(ctx)
		}
	}
}

// handleSignal handles signals of all processes, including this
// one.
func (r *Runs) handleSignal(s journal.Signal) {
	switch s.Kind {
	case journal.SignalEvents:
		r.wakeFollowers(s.Stream)
	case journal.SignalCancel:
		r.cancelLocal(s.Stream, errCanceled)
	case journal.SignalWatched:
		r.mu.Lock()
		if a := r.active[s.Stream]; a != nil {
			a.watchedAt = time.Now()
		}
		r.mu.Unlock()
	}
}

// cancelLocal cancels a run of this process and reports whether there was one.
func (r *Runs) cancelLocal(id uuid.UUID, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.active[id]
	if a != nil {
		a.cancel(cause)
	}
	return a != nil
}

// publish sends a signal to the other processes. A lost signal is harmless, because
// they poll.
func (r *Runs) publish(ctx context.Context, id uuid.UUID, kind journal.SignalKind) {
	if err := r.opt.Bus.Publish(ctx, journal.Signal{Stream: id, Kind: kind}); err != nil && ctx.Err() == nil {
		r.opt.Log.DebugContext(ctx, "run signal not published", slog.Any("run", id), slog.Any("error", err))
	}
}

// notifyFollowers wakes the followers of a run in all processes.
func (r *Runs) notifyFollowers(ctx context.Context, id uuid.UUID) {
	r.wakeFollowers(id)
	r.publish(ctx, id, journal.SignalEvents)
}

// addFollower and removeFollower count the followers of a run. When the last
// follower leaves, the grace period starts.
func (r *Runs) addFollower(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followers[f.run] == nil {
		r.followers[f.run] = map[*follower]struct{}{}
	}
	r.followers[f.run][f] = struct{}{}
	if a := r.active[f.run]; a != nil {
		a.followers++
		f.isLocal = true
	}
}

func (r *Runs) removeFollower(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers[f.run], f)
	if len(r.followers[f.run]) == 0 {
		delete(r.followers, f.run)
	}
	if a := r.active[f.run]; a != nil && f.isLocal {
		if a.followers--; a.followers == 0 {
			r.scheduleCancel(a, a.gracePeriod)
		}
	}
}

// scheduleCancel cancels a run after the grace period if it still has no
// follower. The caller holds the lock.
func (r *Runs) scheduleCancel(a *activeRun, gracePeriod time.Duration) {
	if a.continued {
		return
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(gracePeriod, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch remaining := r.opt.GracePeriod - time.Since(a.watchedAt); {
		case a.ended || a.followers > 0:
		case remaining > 0:
			r.scheduleCancel(a, remaining)
		default:
			a.cancel(errAbandoned)
		}
	})
}

func (r *Runs) wakeFollowers(id uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := range r.followers[id] {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}
