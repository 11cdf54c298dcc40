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

// A Store reads changes (internal/index).
type Store interface {
	ChangeNumbers(ctx context.Context, scopes []viewer.Scope) (map[uuid.UUID]int64, error)
	ConnectorsThere(ctx context.Context, scopes []viewer.Scope, connectors []uuid.UUID) (map[uuid.UUID]bool, error)
	StatusCounts(ctx context.Context, scope viewer.Scope, collection, connector, document uuid.UUID) (int64, index.StatusCounts, error)
	DocumentChanges(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after index.FeedPosition, limit int) ([]index.DocumentChange, error)
}

// Options configures a Feed. The zero value is useful.
type Options struct {
	Poll time.Duration // between two readings of change numbers: 500 ms
	Log  *slog.Logger  // nil discards
}

const (
	// batchSize is the number of changes in a batch.
	batchSize = 500
	// keptBatches is the number of batches kept for slow readers. Slower ones read the
	// changes themselves.
	keptBatches = 16
	// maxBatches bounds the batches that a poll reads of a collection.
	maxBatches  = 8
	pollTimeout = 30 * time.Second
)

// A Feed watches documents for the subscribers of a process. It has a polling goroutine
// while there are watchers.
type Feed struct {
	store Store
	poll  time.Duration
	log   *slog.Logger

	mu      sync.Mutex
	closed  bool
	closing chan struct{}
	stop    context.CancelFunc // ends the polling; nil without one
	topics  map[uuid.UUID]*topic
	counts  map[countsKey]*count
	ended   sync.WaitGroup // the polling and the watchers
}

// A topic is a watched collection.
type topic struct {
	collection uuid.UUID
	scope      viewer.Scope
	watchers   map[*watcher]struct{}

	known   bool               // at is set
	at      index.FeedPosition // the end of the batches
	batches []*batch           // contiguous
	gone    bool               // the collection is deleted
	changed chan struct{}      // closed and replaced with every change of the topic
	missing map[uuid.UUID]bool // deleted connectors that are watched
}

// A batch has the changes between two positions.
type batch struct {
	from, to index.FeedPosition
	changes  []index.DocumentChange
}

// New returns a Feed. The caller closes it.
func New(store Store, o Options) *Feed {
	if o.Poll <= 0 {
		o.Poll = 500 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Feed{
		store: store, poll: o.Poll, log: o.Log, closing: make(chan struct{}),
		topics: make(map[uuid.UUID]*topic), counts: make(map[countsKey]*count),
	}
}

// Close ends all watches and waits for them. It may be called again.
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

// join registers a watcher. It reports false when f is closed.
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
		var pollCtx context.Context
		pollCtx, f.stop = context.WithCancel(context.WithoutCancel(ctx)) // later watchers use it, too
		f.ended.Go(func() { f.run(pollCtx) })
	}
	return t, true
}

// begin sets the position from which a topic is followed, unless it is set. Changes
// before the next poll are then read once for all watchers.
func (f *Feed) begin(t *topic, number int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !t.known {
		t.known, t.at = true, index.FeedEnd(number)
	}
}

// leave removes a watcher.
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

// run polls until ctx ends.
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
		limitedCtx, cancel := context.WithTimeout(ctx, pollTimeout)
		err := f.read(limitedCtx)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			f.log.WarnContext(ctx, "watched documents not read, will retry", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// read reads the changes of all topics once.
func (f *Feed) read(ctx context.Context) error {
	topics, scopes := f.watched()
	if len(topics) == 0 {
		return nil
	}
	// A deleted connector may change no document, so connectors are checked first.
	if err := f.checkConnectors(ctx, topics, scopes); err != nil {
		return err
	}
	numbers, err := f.store.ChangeNumbers(ctx, scopes)
	if err != nil {
		return err
	}
	for _, t := range topics {
		number, ok := numbers[t.collection]
		if !ok {
			f.change(t, func() { t.gone = true })
			continue
		}
		if err := f.follow(ctx, t, number); err != nil {
			return err
		}
	}
	return nil
}

// watched returns all topics and their scopes.
func (f *Feed) watched() (list []*topic, scopes []viewer.Scope) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.topics {
		list, scopes = append(list, t), append(scopes, t.scope)
	}
	return list, scopes
}

// follow reads the changes of a collection up to a change number.
func (f *Feed) follow(ctx context.Context, t *topic, number int64) error {
	f.mu.Lock()
	known, from := t.known, t.at
	f.mu.Unlock()
	if !known || number <= from.Number {
		return nil
	}
	for range maxBatches {
		changes, err := f.store.DocumentChanges(ctx, t.scope, t.collection, from, batchSize)
		if err != nil {
			return err
		}
		to := index.FeedEnd(number)
		if n := len(changes); n == batchSize {
			to = changes[n-1].At
		} else if n > 0 {
			// Newer changes may be among them.
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

// checkConnectors marks the watched connectors that are deleted.
func (f *Feed) checkConnectors(ctx context.Context, topics []*topic, scopes []viewer.Scope) error {
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
	existing, err := f.store.ConnectorsThere(ctx, scopes, all)
	if err != nil {
		return err
	}
	for t, connectors := range watched {
		deleted := slices.DeleteFunc(connectors, func(id uuid.UUID) bool { return existing[id] })
		if len(deleted) == 0 {
			continue
		}
		f.change(t, func() {
			for _, id := range deleted {
				t.missing[id] = true
			}
		})
	}
	return nil
}

// connectors returns the watched connectors that are not marked as deleted, each once.
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

// change changes a topic and wakes its watchers.
func (f *Feed) change(t *topic, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(t.changed)
	t.changed = make(chan struct{})
}
