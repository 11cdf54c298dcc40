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
	"github.com/magpie-search/magpie/internal/model/llm"
)

// Memories is what agents learnt before; memory.Store keeps it.
type Memories interface {
	// Recall returns what is worth knowing for a text, for the viewer in ctx.
	Recall(ctx context.Context, agent uuid.UUID, text string, limit int) ([]memory.Item, error)
	Remember(ctx context.Context, agent, run uuid.UUID, note memory.Note) (memory.Item, error)
}

// Bus carries news of runs between processes. News may be lost: everything is in the database.
type Bus interface {
	Publish(ctx context.Context, news News) error
	// Listen passes all news on until stop is called, which waits; the end of ctx changes nothing.
	Listen(ctx context.Context, deliver func(News)) (stop func())
}

// News tells other processes of a run.
type News struct {
	Run  uuid.UUID `json:"run"`
	Kind Kind      `json:"kind"`
}

// Kind says what happened.
type Kind string

// The kinds of news.
const (
	NewEvents Kind = "events"  // there are more events
	Cancel    Kind = "cancel"  // whoever runs it should stop
	Watched   Kind = "watched" // somebody follows it elsewhere
)

// Options of Runs. Those without a default are needed.
type Options struct {
	Ent      *ent.Client
	Models   *llm.Models
	Kit      *tools.Kit
	Bus      Bus
	Memories Memories // nil: agents have none
	Analyzer *analysis.Analyzer
	Limits   loop.Limits       // loop.Standard() when zero
	Tokens   *llm.TokenCounter // nil makes one
	Log      *slog.Logger      // nil: silent
	Now      func() time.Time  // nil: the system's clock

	PerPerson    int           // runs of a person at once: 4
	PerWorkspace int           // runs of a workspace at once: 50
	Grace        time.Duration // how long a run goes on with nobody following it: 10 s
	Beat         time.Duration // between heartbeats: 5 s
	Stale        time.Duration // age of a heartbeat at which a run is given up: 30 s
	Batch        time.Duration // the least time between two events with more of the answer: 80 ms
	Poll         time.Duration // how often a follower looks by itself: 2 s
	Store        time.Duration // for storing the end of a run: 10 s
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
	}{{&o.PerPerson, 4}, {&o.PerWorkspace, 50}} {
		if *n.field <= 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.Grace, 10 * time.Second}, {&o.Beat, 5 * time.Second}, {&o.Stale, 30 * time.Second}, {&o.Batch, 80 * time.Millisecond},
		{&o.Poll, 2 * time.Second}, {&o.Store, 10 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return o
}

// Why a run ends before its answer.
var (
	errCanceled  = errors.New("the run was canceled")
	errAbandoned = errors.New("nobody follows the run any more")
	errClosing   = errors.New("the process is closing")
	errElsewhere = errors.New("the run was ended elsewhere")
)

// Runs starts and keeps runs. It owns a goroutine for each run and follower and a few of its own; Close ends and awaits
// them.
type Runs struct {
	opt  Options
	loop *loop.Loop

	mu        sync.Mutex
	closed    bool
	active    map[uuid.UUID]*active
	followers map[uuid.UUID]map[*follower]struct{}

	closing    chan struct{}
	working    sync.WaitGroup
	stopListen func()
}

// active is a run of this process.
type active struct {
	id        uuid.UUID
	cancel    context.CancelCauseFunc
	grace     time.Duration
	followers int
	elsewhere time.Time // when somebody was last known to follow it from another process
	timer     *time.Timer
	ended     bool
}

// New makes the runs of a process and begins to look after those that others left behind; the end of ctx changes nothing.
func New(ctx context.Context, o Options) (*Runs, error) {
	o = o.withDefaults()
	l, err := loop.New(loop.Options{Limits: o.Limits, Tokens: o.Tokens, Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("agent runs: %w", err)
	}
	r := &Runs{
		opt: o, loop: l, active: map[uuid.UUID]*active{}, followers: map[uuid.UUID]map[*follower]struct{}{},
		closing: make(chan struct{}),
	}
	r.stopListen = o.Bus.Listen(ctx, r.hear)
	ctx = context.WithoutCancel(ctx)
	r.working.Go(func() { r.every(ctx, r.opt.Beat, r.beat) })
	r.working.Go(func() { r.every(ctx, r.opt.Stale/2, r.sweep) })
	return r, nil
}

// Close ends the runs of this process, stores what they said and returns when all has ended. Runs started afterwards are
// refused. It may be called more than once.
func (r *Runs) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		for _, a := range r.active {
			a.cancel(errClosing)
		}
		close(r.closing)
	}
	r.mu.Unlock()
	r.working.Wait()
	r.stopListen()
	r.loop.Close()
}

// every does something again and again until Close.
func (r *Runs) every(ctx context.Context, pause time.Duration, do func(context.Context)) {
	tick := time.NewTicker(pause)
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

// hear takes news from other processes, and one's own again.
func (r *Runs) hear(news News) {
	switch news.Kind {
	case NewEvents:
		r.nudge(news.Run)
	case Cancel:
		r.stop(news.Run, errCanceled)
	case Watched:
		r.mu.Lock()
		if a := r.active[news.Run]; a != nil {
			a.elsewhere = time.Now()
		}
		r.mu.Unlock()
	}
}

// stop ends a run of this process; false where it is none.
func (r *Runs) stop(id uuid.UUID, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.active[id]
	if a != nil {
		a.cancel(cause)
	}
	return a != nil
}

// publish tells the other processes; that they are not reached is made up for by their looking.
func (r *Runs) publish(ctx context.Context, id uuid.UUID, kind Kind) {
	if err := r.opt.Bus.Publish(ctx, News{Run: id, Kind: kind}); err != nil && ctx.Err() == nil {
		r.opt.Log.DebugContext(ctx, "news of a run was not published", slog.Any("run", id), slog.Any("error", err))
	}
}

// tellAll nudges the followers here and elsewhere.
func (r *Runs) tellAll(ctx context.Context, id uuid.UUID) {
	r.nudge(id)
	r.publish(ctx, id, NewEvents)
}

// attach and detach count the followers of a run of this process. The last one to leave starts the grace.
func (r *Runs) attach(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followers[f.run] == nil {
		r.followers[f.run] = map[*follower]struct{}{}
	}
	r.followers[f.run][f] = struct{}{}
	if a := r.active[f.run]; a != nil {
		a.followers++
		f.here = true
	}
}

func (r *Runs) detach(f *follower) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.followers[f.run], f)
	if len(r.followers[f.run]) == 0 {
		delete(r.followers, f.run)
	}
	if a := r.active[f.run]; a != nil && f.here {
		if a.followers--; a.followers == 0 {
			r.abandon(a, a.grace)
		}
	}
}

// abandon ends a run that nobody follows when the grace is over. It is called with the lock held.
func (r *Runs) abandon(a *active, grace time.Duration) {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(grace, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch left := r.opt.Grace - time.Since(a.elsewhere); {
		case a.ended || a.followers > 0:
		case left > 0:
			r.abandon(a, left)
		default:
			a.cancel(errAbandoned)
		}
	})
}

func (r *Runs) nudge(id uuid.UUID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for f := range r.followers[id] {
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
}
