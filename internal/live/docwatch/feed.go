package docwatch

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Store is what is read; index.Store has it.
type Store interface {
	ChangeNumbers(ctx context.Context, scopes []viewer.Scope) (map[uuid.UUID]int64, error)
	ConnectorsThere(ctx context.Context, scopes []viewer.Scope, connectors []uuid.UUID) (map[uuid.UUID]bool, error)
	StatusCounts(ctx context.Context, scope viewer.Scope, collection, connector, document uuid.UUID) (int64, index.StatusCounts, error)
	DocumentChanges(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after index.FeedPosition, limit int) ([]index.DocumentChange, error)
}

// Options of a Feed; the zero value is useful.
type Options struct {
	Poll time.Duration // how often the change numbers are read: 500 ms
	Log  *slog.Logger  // nil: nowhere
}

const (
	// batchSize is how many changes are read at once for everybody.
	batchSize = 500
	// keptBatches are in memory for those who lag behind; others read for themselves.
	keptBatches = 16
	// mostBatches bounds what one turn reads of a collection; the next one goes on.
	mostBatches = 8
	pollLimit   = 30 * time.Second
)

// Feed watches the documents of a process' viewers. It owns a goroutine while
// anybody watches.
type Feed struct {
	store Store
	poll  time.Duration
	log   *slog.Logger

	mu      sync.Mutex
	closed  bool
	closing chan struct{}
	stop    context.CancelFunc // ends the polling; nil when there is none
	topics  map[uuid.UUID]*topic
	counts  map[countsKey]*counted
	ended   sync.WaitGroup // the polling and those who watch
}

// topic is a watched collection.
type topic struct {
	collection uuid.UUID
	scope      viewer.Scope
	watchers   map[*watcher]struct{}

	known   bool               // whether at is set
	at      index.FeedPosition // everything up to here is in batches, or was before them
	batches []*batch           // one follows the other
	gone    bool               // the collection is
	changed chan struct{}      // is closed, and replaced, with every change of the above
	missing map[uuid.UUID]bool // watched connectors that are gone
}

// batch is what changed between two positions.
type batch struct {
	from, to index.FeedPosition
	changes  []index.DocumentChange
}

// New makes a Feed. Close it once.
func New(store Store, o Options) *Feed {
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Feed{
		store: store, poll: o.Poll, log: o.Log, closing: make(chan struct{}),
		topics: make(map[uuid.UUID]*topic), counts: make(map[countsKey]*counted),
	}
}

// Close ends all watching and waits for it. It may be called again.
func (f *Feed) Close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.closing)
		if f.stop != nil {
			f.stop()
		}
	}
	f.mu.Unlock()
	f.ended.Wait()
}

// join registers a watcher; false when f is closed.
func (f *Feed) join(ctx context.Context, scope viewer.Scope, w *watcher) (*topic, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false
	}
	f.ended.Add(1)
	t := f.topics[w.filter.Collection]
	if t == nil {
		t = &topic{
			collection: w.filter.Collection, scope: scope, watchers: make(map[*watcher]struct{}),
			changed: make(chan struct{}), missing: make(map[uuid.UUID]bool),
		}
		f.topics[t.collection] = t
	}
	t.watchers[w] = struct{}{}
	if f.stop == nil {
		var polling context.Context
		polling, f.stop = context.WithCancel(context.WithoutCancel(ctx)) // it serves those who come later, too
		f.ended.Go(func() { f.run(polling) })
	}
	return t, true
}

// begin says from where on a topic is to be followed, unless it is already: what
// changes before the next turn is then read once for all, too.
func (f *Feed) begin(t *topic, number int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.known {
		t.known, t.at = true, index.FeedEnd(number)
	}
}

func (f *Feed) leave(t *topic, w *watcher) {
	defer f.ended.Done()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(t.watchers, w)
	if len(t.watchers) == 0 && f.topics[t.collection] == t {
		delete(f.topics, t.collection)
	}
	if len(f.topics) == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

func (f *Feed) run(ctx context.Context) {
	tick := time.NewTicker(f.poll)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, pollLimit)
		err := f.read(limited)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			f.log.WarnContext(ctx, "watched documents cannot be read at the moment", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// read looks once at everything that is watched.
func (f *Feed) read(ctx context.Context) error {
	topics, scopes := f.watched()
	if len(topics) == 0 {
		return nil
	}
	// Before the changes: a connector that goes need not change any document.
	if err := f.look(ctx, topics, scopes); err != nil {
		return err
	}
	numbers, err := f.store.ChangeNumbers(ctx, scopes)
	if err != nil {
		return err
	}
	for _, t := range topics {
		number, there := numbers[t.collection]
		if !there {
			f.change(t, func() { t.gone = true })
			continue
		}
		if err := f.follow(ctx, t, number); err != nil {
			return err
		}
	}
	return nil
}

func (f *Feed) watched() (list []*topic, scopes []viewer.Scope) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.topics {
		list, scopes = append(list, t), append(scopes, t.scope)
	}
	return list, scopes
}

// follow reads what changed in a collection up to a number.
func (f *Feed) follow(ctx context.Context, t *topic, number int64) error {
	f.mu.Lock()
	known, from := t.known, t.at
	f.mu.Unlock()
	if !known || number <= from.Number {
		return nil
	}
	for range mostBatches {
		changes, err := f.store.DocumentChanges(ctx, t.scope, t.collection, from, batchSize)
		if err != nil {
			return err
		}
		to := index.FeedEnd(number)
		if n := len(changes); n == batchSize {
			to = changes[n-1].At
		} else if n > 0 {
			// What was written after the number had been read may be among them.
			to = index.FeedEnd(max(number, changes[n-1].At.Number))
		}
		b := &batch{from: from, to: to, changes: changes}
		f.change(t, func() {
			t.batches = append(t.batches, b)
			if len(t.batches) > keptBatches {
				t.batches = append([]*batch(nil), t.batches[len(t.batches)-keptBatches:]...)
			}
			t.at = to
		})
		if len(changes) < batchSize {
			return nil
		}
		from = to
	}
	return nil
}

// look finds out which of the watched connectors are gone.
func (f *Feed) look(ctx context.Context, topics []*topic, scopes []viewer.Scope) error {
	watched, all := make(map[*topic][]uuid.UUID), []uuid.UUID{}
	f.mu.Lock()
	for _, t := range topics {
		watched[t] = t.connectors()
		all = append(all, watched[t]...)
	}
	f.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	there, err := f.store.ConnectorsThere(ctx, scopes, all)
	if err != nil {
		return err
	}
	for t, connectors := range watched {
		gone := slices.DeleteFunc(connectors, func(id uuid.UUID) bool { return there[id] })
		if len(gone) == 0 {
			continue
		}
		f.change(t, func() {
			for _, id := range gone {
				t.missing[id] = true
			}
		})
	}
	return nil
}

// connectors are those that somebody watches and that are not known to be gone,
// each once.
func (t *topic) connectors() (list []uuid.UUID) {
	seen := map[uuid.UUID]bool{uuid.Nil: true}
	for w := range t.watchers {
		if id := w.filter.owner(); !seen[id] && !t.missing[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}

// change changes a topic and wakes everybody who watches it.
func (f *Feed) change(t *topic, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(t.changed)
	t.changed = make(chan struct{})
}
