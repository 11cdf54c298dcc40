package replay

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Owner is whose work it is: nobody else finds it.
type Owner struct{ Workspace, Subject uuid.UUID }

// Options are settings; the zero value is useful.
type Options struct {
	Name   string        // what errors call the work: "Answer"
	Grace  time.Duration // how long it goes on without a reader: 20 s
	Keep   time.Duration // how long its events are kept after its end: 1 min
	Each   int           // how many of an owner are kept: 20; the oldest that has ended makes room
	Events int           // how many events of one work are kept: 20,000; it is broken off beyond
}

func (o Options) orDefaults() Options {
	if o.Name == "" {
		o.Name = "Work"
	}
	if o.Grace <= 0 {
		o.Grace = 20 * time.Second
	}
	if o.Keep <= 0 {
		o.Keep = time.Minute
	}
	if o.Each <= 0 {
		o.Each = 20
	}
	if o.Events <= 0 {
		o.Events = 20_000
	}
	return o
}

// Keeper keeps work whose events are of type T. It is safe for concurrent use,
// and owns a goroutine for each work and each reader.
type Keeper[T any] struct {
	opt Options

	mu      sync.Mutex
	closed  bool
	closing chan struct{}
	work    map[uuid.UUID]*work[T]
	of      map[Owner][]*work[T] // the oldest first
	ended   sync.WaitGroup
}

// work is one piece of it. All but id, owner and cancel is guarded by the keeper.
type work[T any] struct {
	id     uuid.UUID
	owner  Owner
	cancel context.CancelFunc

	events  []T
	over    bool
	readers int
	changed chan struct{} // closed and replaced with every event, and at the end
	timer   *time.Timer   // until it is broken off, or forgotten
}

// Event is an event with its number; the first one's is 1.
type Event[T any] struct {
	Seq int
	Of  T
}

// New makes a Keeper. Close it once.
func New[T any](o Options) *Keeper[T] {
	return &Keeper[T]{opt: o.orDefaults(), closing: make(chan struct{}), work: make(map[uuid.UUID]*work[T]), of: make(map[Owner][]*work[T])}
}

// Start begins work of an owner under an id. begin gets a context with the
// values of ctx that ends when the work is to stop; it gives the events on a
// channel that it closes at the end, and its error is Start's. The work stops
// when nobody has read for the Grace.
func (k *Keeper[T]) Start(ctx context.Context, owner Owner, id uuid.UUID, begin func(context.Context) (<-chan T, error)) error {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return closed()
	}
	k.ended.Add(1)
	k.mu.Unlock()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	events, err := begin(ctx)
	if err != nil {
		cancel()
		k.ended.Done()
		return err
	}
	w := &work[T]{id: id, owner: owner, cancel: cancel, changed: make(chan struct{})}
	k.mu.Lock()
	k.makeRoom(owner)
	k.work[id] = w
	k.of[owner] = append(k.of[owner], w)
	w.timer = time.AfterFunc(k.opt.Grace, w.cancel)
	if k.closed {
		cancel()
	}
	k.mu.Unlock()
	go func() {
		defer k.ended.Done()
		defer cancel()
		for e := range events {
			k.add(w, e)
		}
		k.finish(w)
	}()
	return nil
}

func closed() error {
	return apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
}

// makeRoom forgets the oldest works of an owner that have ended, where there are too many.
func (k *Keeper[T]) makeRoom(owner Owner) {
	for _, w := range append([]*work[T](nil), k.of[owner]...) {
		if len(k.of[owner]) < k.opt.Each {
			return
		}
		if w.over {
			k.forget(w)
		}
	}
}

// forget takes work out; readers of it read on.
func (k *Keeper[T]) forget(w *work[T]) {
	w.timer.Stop()
	delete(k.work, w.id)
	list := k.of[w.owner]
	for i, other := range list {
		if other == w {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(k.of, w.owner)
		return
	}
	k.of[w.owner] = list
}

func (k *Keeper[T]) add(w *work[T], e T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(w.events) >= k.opt.Events {
		w.cancel()
		return
	}
	w.events = append(w.events, e)
	close(w.changed)
	w.changed = make(chan struct{})
}

func (k *Keeper[T]) finish(w *work[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w.over = true
	close(w.changed)
	w.changed = nil
	w.timer.Stop()
	w.timer = time.AfterFunc(k.opt.Keep, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.work[w.id] == w {
			k.forget(w)
		}
	})
}

// Follow gives the events of an owner's work after a number, those that are
// there at once and the others as they come; convert makes them what is wanted.
// The channel is closed after the last one, when ctx ends and when k is closed.
// Work that is not known here, or somebody else's, is not found.
func Follow[T, U any](ctx context.Context, k *Keeper[T], owner Owner, id uuid.UUID, after int, convert func(Event[T]) U) (<-chan U, error) {
	if after < 0 {
		return nil, apierr.Invalid("after", "must be 0 or more")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.work[id]
	switch {
	case k.closed:
		return nil, closed()
	case w == nil || w.owner != owner:
		return nil, apierr.New(apierr.CodeNotFound, k.opt.Name+" not found; it ended some time ago, or another server has it")
	}
	w.readers++
	if !w.over {
		w.timer.Stop()
	}
	k.ended.Add(1)
	out := make(chan U)
	go func() {
		defer k.ended.Done()
		defer k.leave(w)
		defer close(out)
		for {
			e, ok := k.next(ctx, w, after)
			if !ok {
				return
			}
			select {
			case out <- convert(e):
				after = e.Seq
			case <-ctx.Done():
				return
			case <-k.closing:
				return
			}
		}
	}()
	return out, nil
}

// next waits for the event after a number; false when none comes any more.
func (k *Keeper[T]) next(ctx context.Context, w *work[T], after int) (e Event[T], ok bool) {
	for {
		k.mu.Lock()
		if after < len(w.events) {
			e = Event[T]{after + 1, w.events[after]}
			k.mu.Unlock()
			return e, true
		}
		over, changed := w.over, w.changed
		k.mu.Unlock()
		if over {
			return e, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return e, false
		case <-k.closing:
			return e, false
		}
	}
}

// leave counts a reader out. After the last one the work goes on for the Grace.
func (k *Keeper[T]) leave(w *work[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.readers--; w.readers == 0 && !w.over {
		w.timer.Reset(k.opt.Grace)
	}
}

// Close breaks all work off and waits for it and its readers. It may be called
// again.
func (k *Keeper[T]) Close() {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.closing)
		for _, w := range k.work {
			w.cancel()
			w.timer.Stop()
		}
	}
	k.mu.Unlock()
	k.ended.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.work {
		w.timer.Stop()
	}
}
