package fair

import (
	"cmp"
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Options tune a Gate.
type Options struct {
	// Places is the number of calls that run at a time, 1 at least.
	Places int
	// Share is the number of places of one workspace while another one is active; 0 is
	// half of Places, 1 at least.
	Share int
	// Active is the time after its last call that a workspace counts as active; 0 means
	// one second.
	Active time.Duration
}

// A Gate lets a limited number of calls run at a time. A workspace that is alone has all
// places. If several are active, none has more than its share, so that a call of another
// finds a place, and a place that becomes free goes to the workspace with the fewest
// running calls, among equals to the one whose last call began longest ago. Calls of one
// workspace begin in the order in which they came. It is safe for concurrent use.
type Gate struct {
	opt Options

	mu         sync.Mutex
	running    int
	clock      int64 // number of calls that began
	ended      int64 // number of calls that ended
	workspaces map[uuid.UUID]*workspace
}

// workspace is what a Gate knows of a workspace.
type workspace struct {
	running int
	began   int64      // by clock, when its last call began
	left    time.Time  // when its last call ended
	waiting *list.List // of chan struct{}, which are closed when the call may run
}

// New returns an open Gate.
func New(o Options) *Gate {
	o.Places = max(o.Places, 1)
	if o.Share <= 0 {
		o.Share = max(o.Places/2, 1)
	}
	o.Share = min(o.Share, o.Places)
	if o.Active <= 0 {
		o.Active = time.Second
	}
	return &Gate{opt: o, workspaces: make(map[uuid.UUID]*workspace)}
}

// Enter waits until a call of a workspace may run. The caller calls leave once when the
// call has ended. It returns the context's error if that ends first; leave is nil then.
func (g *Gate) Enter(ctx context.Context, id uuid.UUID) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(func() { g.leave(id) })
	g.mu.Lock()
	w := g.workspace(id)
	if w.waiting.Len() == 0 && g.mayRun(w) {
		g.begin(w)
		g.mu.Unlock()
		return leave, nil
	}
	turn := make(chan struct{})
	place := w.waiting.PushBack(turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return leave, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-turn: // it got its turn meanwhile, and passes it on
		g.end(w)
	default:
		w.waiting.Remove(place)
	}
	g.forget()
	return nil, ctx.Err()
}

// turn is the place of a call, in its context.
type turn struct {
	gate *Gate
	id   uuid.UUID
}

type turnKey struct{}

// Run runs a call of a workspace once there is a place for it.
func (g *Gate) Run(ctx context.Context, id uuid.UUID, call func(context.Context) error) error {
	leave, err := g.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	return call(context.WithValue(ctx, turnKey{}, turn{g, id}))
}

// Outside runs a part of a call that waits for another system. The place of the call, if
// the context is that of Run, is free meanwhile. Afterwards the call goes on without waiting
// for a place, since it may hold what others wait for. A call has one part outside at a
// time.
func Outside(ctx context.Context, part func() error) error {
	t, ok := ctx.Value(turnKey{}).(turn)
	if !ok {
		return part()
	}
	t.gate.leave(t.id)
	defer t.gate.rejoin(t.id)
	return part()
}

// rejoin begins a call of a workspace whether there is a place or not.
func (g *Gate) rejoin(id uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begin(g.workspace(id))
}

// Waiting returns the number of calls that wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, w := range g.workspaces {
		n += w.waiting.Len()
	}
	return n
}

// Running returns the number of calls that run.
func (g *Gate) Running() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running
}

// workspace returns what is known of a workspace. g is locked.
func (g *Gate) workspace(id uuid.UUID) *workspace {
	w := g.workspaces[id]
	if w == nil {
		w = &workspace{waiting: list.New()}
		g.workspaces[id] = w
	}
	return w
}

func (g *Gate) leave(id uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w := g.workspaces[id]; w != nil {
		g.end(w)
	}
	g.forget()
}

// mayRun reports whether there is a place for a call of a workspace. g is locked.
func (g *Gate) mayRun(w *workspace) bool {
	if g.running >= g.opt.Places {
		return false
	}
	return w.running < g.opt.Share || !g.othersActive(w, time.Now())
}

// othersActive reports whether a workspace other than w is active.
func (g *Gate) othersActive(w *workspace, now time.Time) bool {
	for _, o := range g.workspaces {
		if o != w && o.active(g.opt.Active, now) {
			return true
		}
	}
	return false
}

func (w *workspace) active(age time.Duration, now time.Time) bool {
	return w.running > 0 || w.waiting.Len() > 0 || now.Sub(w.left) < age
}

func (g *Gate) begin(w *workspace) {
	g.clock++
	g.running++
	w.running, w.began = w.running+1, g.clock
}

// end ends a call of a workspace and lets waiting ones run.
func (g *Gate) end(w *workspace) {
	g.running--
	w.running--
	w.left = time.Now()
	for next := g.next(); next != nil; next = g.next() {
		first := next.waiting.Front()
		next.waiting.Remove(first)
		g.begin(next)
		close(first.Value.(chan struct{})) //nolint:forcetypeassert // nothing else is in the list
	}
}

// next returns the workspace whose first waiting call may run; nil if there is none.
func (g *Gate) next() *workspace {
	var best *workspace
	for _, w := range g.workspaces {
		if w.waiting.Len() > 0 && g.mayRun(w) && (best == nil || compare(w, best) < 0) {
			best = w
		}
	}
	return best
}

// compare orders workspaces by who is next.
func compare(a, b *workspace) int {
	return cmp.Or(cmp.Compare(a.running, b.running), cmp.Compare(a.began, b.began))
}

// forgetEvery is the number of calls after which workspaces that are not active are removed.
const forgetEvery = 64

// forget removes workspaces that are not active, now and then.
func (g *Gate) forget() {
	if g.ended++; g.ended%forgetEvery != 0 {
		return
	}
	now := time.Now()
	for id, w := range g.workspaces {
		if !w.active(g.opt.Active, now) {
			delete(g.workspaces, id)
		}
	}
}
