package replay

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

// An Owner is the owner of a stream. Only the owner can read it.
type Owner struct{ Workspace, Subject uuid.UUID }

// Options configures a Keeper. The zero value is useful.
type Options struct {
	Name   string        // of a stream in errors, such as "Answer"
	Grace  time.Duration // that a stream goes on without a reader: 20 s
	Keep   time.Duration // that events are kept after the end: 1 min
	Each   int           // streams kept per owner: 20; the oldest one that has ended makes room
	Events int           // the most events of a stream, which is stopped beyond: 20,000
}

func (o Options) withDefaults() Options {
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

// A Keeper keeps streams of events of type T. It is safe for concurrent use. It has a
// goroutine for each stream and each reader.
type Keeper[T any] struct {
	opt Options

	mu      sync.Mutex
	closed  bool
	closing chan struct{}
	streams map[uuid.UUID]*stream[T]
	owned   map[Owner][]*stream[T] // the oldest first
	ended   sync.WaitGroup
}

// A stream is a stream of events. The mutex of the keeper guards all fields except id,
// owner and cancel.
type stream[T any] struct {
	id     uuid.UUID
	owner  Owner
	cancel context.CancelFunc

	events  []T
	done    bool
	readers int
	changed chan struct{} // closed and replaced with every event, and at the end
	timer   *time.Timer   // until it is stopped, or dropped after its end
}

// An Event is an event with its sequence number, from 1.
type Event[T any] struct {
	Seq  int
	Data T
}

// New returns a Keeper. The caller closes it.
func New[T any](o Options) *Keeper[T] {
	return &Keeper[T]{opt: o.withDefaults(), closing: make(chan struct{}), streams: make(map[uuid.UUID]*stream[T]), owned: make(map[Owner][]*stream[T])}
}

// Start starts a stream of an owner with an id. begin returns a channel of events,
// which it closes at the end. Its context has the values of ctx and ends when the
// stream is stopped. Start returns the error of begin. A stream without a reader is
// stopped after the grace.
func (k *Keeper[T]) Start(ctx context.Context, owner Owner, id uuid.UUID, begin func(context.Context) (<-chan T, error)) error {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return errClosing()
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
	s := &stream[T]{id: id, owner: owner, cancel: cancel, changed: make(chan struct{})}
	k.mu.Lock()
	k.makeRoom(owner)
	k.streams[id] = s
	k.owned[owner] = append(k.owned[owner], s)
	s.timer = time.AfterFunc(k.opt.Grace, s.cancel)
	if k.closed {
		cancel()
	}
	k.mu.Unlock()
	go func() {
		defer k.ended.Done()
		defer cancel()
		for e := range events {
			k.add(s, e)
		}
		k.finish(s)
	}()
	return nil
}

func errClosing() error {
	return apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
}

// makeRoom drops the oldest ended streams of an owner with too many.
func (k *Keeper[T]) makeRoom(owner Owner) {
	for _, s := range append([]*stream[T](nil), k.owned[owner]...) {
		if len(k.owned[owner]) < k.opt.Each {
			return
		}
		if s.done {
			k.drop(s)
		}
	}
}

// drop removes a stream. Its readers go on.
func (k *Keeper[T]) drop(s *stream[T]) {
	s.timer.Stop()
	delete(k.streams, s.id)
	list := k.owned[s.owner]
	for i, other := range list {
		if other == s {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(k.owned, s.owner)
		return
	}
	k.owned[s.owner] = list
}

// add appends an event, or stops a stream with too many.
func (k *Keeper[T]) add(s *stream[T], e T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(s.events) >= k.opt.Events {
		s.cancel()
		return
	}
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// finish marks the end of a stream and drops it later.
func (k *Keeper[T]) finish(s *stream[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s.done = true
	close(s.changed)
	s.changed = nil
	s.timer.Stop()
	s.timer = time.AfterFunc(k.opt.Keep, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.streams[s.id] == s {
			k.drop(s)
		}
	})
}

// Follow returns the events of a stream after a sequence number, as converted by
// convert: past events at once and new events as they come. It closes the channel
// after the last event, when ctx ends and when k is closed. An unknown stream, or one
// of another owner, is not found.
func Follow[T, U any](ctx context.Context, k *Keeper[T], owner Owner, id uuid.UUID, after int, convert func(Event[T]) U) (<-chan U, error) {
	if after < 0 {
		return nil, apierr.Invalid("after", "must be 0 or more")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.streams[id]
	switch {
	case k.closed:
		return nil, errClosing()
	case s == nil || s.owner != owner:
		return nil, apierr.New(apierr.CodeNotFound, k.opt.Name+" not found; it ended some time ago, or another server has it")
	}
	s.readers++
	if !s.done {
		s.timer.Stop()
	}
	k.ended.Add(1)
	out := make(chan U)
	go func() {
		defer k.ended.Done()
		defer k.leave(s)
		defer close(out)
		for {
			e, ok := k.next(ctx, s, after)
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

// next waits for the event after a sequence number. It reports false when there is
// none.
func (k *Keeper[T]) next(ctx context.Context, s *stream[T], after int) (e Event[T], ok bool) {
	for {
		k.mu.Lock()
		if after < len(s.events) {
			e = Event[T]{after + 1, s.events[after]}
			k.mu.Unlock()
			return e, true
		}
		done, changed := s.done, s.changed
		k.mu.Unlock()
		if done {
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

// leave removes a reader. After the last reader, the stream goes on for the grace.
func (k *Keeper[T]) leave(s *stream[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.readers--; s.readers == 0 && !s.done {
		s.timer.Reset(k.opt.Grace)
	}
}

// Close stops all streams and waits for them and their readers. It may be called
// again.
func (k *Keeper[T]) Close() {
	k.mu.Lock()
	if !k.closed {
		k.closed = true
		close(k.closing)
		for _, s := range k.streams {
			s.cancel()
			s.timer.Stop()
		}
	}
	k.mu.Unlock()
	k.ended.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range k.streams {
		s.timer.Stop()
	}
}
