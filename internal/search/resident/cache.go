package resident

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrLoading is returned when an index is not there yet, or not as far as the
// caller must see. It is being loaded meanwhile.
var ErrLoading = errors.New("the collection's index is being loaded")

// ErrClosed is returned by a cache that has been closed.
var ErrClosed = errors.New("the cache of indexes is closed")

// Feed tells of the changes of collections; index.Store is one.
type Feed interface {
	Changes(ctx context.Context, scope viewer.Scope, collection uuid.UUID, after index.Position, r index.ChangeReader) error
}

// CacheOptions tune a Cache; the zero value is ready to use.
type CacheOptions struct {
	// Budget is how many bytes indexes may take together, 1 GiB by default. A
	// collection that is read anew, or rewritten, takes more for a moment.
	Budget int64
	// Patience is how long a caller waits for an index, 1 s by default, and
	// LongPatience, at least that and 5 s by default, how long where PostgreSQL
	// has none either: it would read the collection, too, and for each question.
	Patience, LongPatience time.Duration
	// Pause is the least time between changes that an index takes over though
	// no search needs them yet, 200 ms by default.
	Pause time.Duration
	// Changed is told of documents that are to be found in a new version, before
	// they are; nil for nobody. It is called with the state that a search had
	// when the reading of the changes began, which go on when it returns.
	Changed func(ctx context.Context, scope viewer.Scope, state index.State, documents []uuid.UUID)
	// Log is told of loads, and of failures that no caller waits for; nil discards it.
	Log *slog.Logger
	// Index is for the indexes.
	Index Options
}

// Cache keeps the indexes of collections in memory, those used last, and keeps
// them up to date while they are searched. It is safe for concurrent use.
type Cache struct {
	feed Feed
	opt  CacheOptions
	work sync.WaitGroup

	mutex   sync.Mutex
	closed  bool
	tick    int64
	entries map[key]*entry
	stats   CacheStats
}

// key is a collection as a workspace sees it. A scope over all collections of a
// workspace may be narrowed to any id, so that the id alone would let one
// workspace find what another one has loaded.
type key struct{ workspace, collection uuid.UUID }

// entry is what the cache knows of a collection.
type entry struct {
	key
	index  *Index  // nil when it is not loaded
	flight *flight // nil when nothing is being read
	bytes  int64   // that it takes, or is thought to take once it is loaded
	used   int64   // tick of its last use
	caught time.Time
	// size is what a passage took when the collection turned out to be too
	// large, 0 otherwise.
	size float64
}

// flight is a reading of changes that callers may wait for.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // callers that have not gone away
	err     error
}

// CacheStats counts what a cache has and has done.
type CacheStats struct {
	Collections, Passages int // loaded
	Bytes                 int64
	// Loads and CatchUps succeeded, Failures did not, Evictions made room.
	Loads, CatchUps, Failures, Evictions int64
}

// NewCache makes an empty cache. Close ends its work.
func NewCache(feed Feed, opt CacheOptions) *Cache {
	if opt.Budget <= 0 {
		opt.Budget = 1 << 30
	}
	if opt.Patience <= 0 {
		opt.Patience = time.Second
	}
	if opt.LongPatience <= 0 {
		opt.LongPatience = 5 * time.Second
	}
	opt.LongPatience = max(opt.LongPatience, opt.Patience)
	if opt.Pause <= 0 {
		opt.Pause = 200 * time.Millisecond
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Cache{feed: feed, opt: opt, entries: make(map[key]*entry)}
}

// Close stops what is being read and waits until nothing is. Snapshots that
// have been given out stay valid.
func (c *Cache) Close() {
	c.mutex.Lock()
	c.closed = true
	for _, e := range c.entries {
		if e.flight != nil {
			e.flight.cancel()
		}
	}
	c.mutex.Unlock()
	c.work.Wait()
}

// Stats returns the counts of this moment.
func (c *Cache) Stats() CacheStats {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	out := c.stats
	for _, e := range c.entries {
		if e.index != nil {
			out.Collections++
			s := e.index.Snapshot()
			out.Passages += s.statistics.Passages
			out.Bytes += s.bytes
		}
	}
	return out
}

// Snapshot returns a collection's index, at least as far as the state requires
// and of its generation. It waits for it no longer than the cache's patience,
// then it is ErrLoading; ErrTooLarge is a collection that does not fit. The
// scope must reach the collection (viewer.ErrOutOfReach), whether it is loaded or not.
func (c *Cache) Snapshot(ctx context.Context, scope viewer.Scope, state index.State) (*Snapshot, error) {
	narrow, err := scope.Narrow(state.Collection)
	if err != nil {
		return nil, fmt.Errorf("find an index: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return nil, fmt.Errorf("find an index: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := key{workspace, state.Collection}
	wait := c.opt.LongPatience
	if state.Indexed {
		wait = c.opt.Patience
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	// What is being read already may not go far enough; what begins after this
	// call does, or the state is ahead of what can be read.
	for range 3 {
		s, f, err := c.look(ctx, k, narrow, state)
		if err != nil || s != nil {
			return s, err
		}
		select {
		case <-f.done:
			err = f.err
		case <-patience.C:
			err = ErrLoading
		case <-ctx.Done():
			err = ctx.Err()
		}
		c.mutex.Lock()
		f.waiting--
		c.mutex.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return nil, ErrLoading
}

// warmTries is how often Warm waits for a load.
const warmTries = 10

// Warm loads a collection's index and waits for it. One that does not fit beside
// those that are there is ErrTooLarge; none leaves memory for it.
func (c *Cache) Warm(ctx context.Context, scope viewer.Scope, state index.State) error {
	c.mutex.Lock()
	room := c.opt.Budget - UsualPassage*state.Passages
	for _, e := range c.entries {
		if e.collection != state.Collection {
			room -= e.bytes
		}
	}
	c.mutex.Unlock()
	if room < 0 {
		return ErrTooLarge
	}
	for range warmTries {
		if _, err := c.Snapshot(ctx, scope, state); !errors.Is(err, ErrLoading) {
			return err
		}
	}
	return ErrLoading
}

// Loaded returns a collection's index as it is in memory, however far; nil where
// it is not, or out of the scope's reach. It is no use of the index.
func (c *Cache) Loaded(scope viewer.Scope, collection uuid.UUID) *Snapshot {
	narrow, err := scope.Narrow(collection)
	if err != nil {
		return nil
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if e := c.entries[key{workspace, collection}]; e != nil && e.index != nil && !c.closed {
		return e.index.Snapshot()
	}
	return nil
}

// look returns the snapshot if it is there, else what to wait for.
func (c *Cache) look(ctx context.Context, k key, scope viewer.Scope, state index.State) (*Snapshot, *flight, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	e := c.entries[k]
	if e == nil {
		e = &entry{key: k}
		c.entries[k] = e
	}
	c.tick++
	e.used = c.tick
	if e.index != nil {
		switch s := e.index.Snapshot(); {
		case s.Generation > state.Generation:
			// The caller's state is of the past, and so is the model that it
			// embeds questions with.
			return nil, nil, ErrLoading
		case s.Generation == state.Generation && s.Change >= state.Required:
			if s.Change < state.Change && e.flight == nil && time.Since(e.caught) >= c.opt.Pause {
				c.start(ctx, e, scope, state)
			}
			return s, nil, nil
		case s.Generation < state.Generation && e.flight == nil:
			e.index = nil // nothing of it will be used again
		}
	}
	if e.flight == nil {
		if e.index == nil {
			size := e.size
			if size == 0 {
				size = leastPassage
			}
			if size*float64(state.Passages) > float64(c.opt.Budget) {
				return nil, nil, ErrTooLarge
			}
			e.bytes = min(c.opt.Budget, max(int64(e.size), UsualPassage)*state.Passages)
			c.makeRoom(e)
		}
		c.start(ctx, e, scope, state)
	}
	e.flight.waiting++
	return nil, e.flight, nil
}

const (
	// leastPassage is what a passage takes at least, in bytes: a few words without a vector.
	leastPassage = 100
	// UsualPassage is about what a passage takes in memory, in bytes, with a vector of 384 components.
	UsualPassage = 1 << 10
)

// start begins to read what an entry lacks. It goes on when the caller goes away.
func (c *Cache) start(ctx context.Context, e *entry, scope viewer.Scope, state index.State) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	e.flight = f
	x := e.index
	loads := x == nil
	if loads {
		x = New(c.opt.Index)
	}
	c.work.Go(func() {
		defer cancel()
		began := time.Now()
		s, size, err := c.read(ctx, x, scope, state)
		waiting := c.finish(e, x, s, size, err)
		switch {
		case err == nil && loads:
			c.opt.Log.InfoContext(ctx, "an index was loaded", slog.Any("collection", e.collection),
				slog.Int("passages", s.statistics.Passages), slog.Int64("bytes", s.bytes), slog.Duration("took", time.Since(began)))
		case err != nil && waiting == 0 && ctx.Err() == nil:
			// A caller that waits is told, and then it is not for the log.
			c.opt.Log.WarnContext(ctx, "an index could not be read", slog.Any("collection", e.collection), slog.Any("error", err))
		}
	})
}

// read brings an index up to date. size is what a passage takes when that is too much.
func (c *Cache) read(ctx context.Context, x *Index, scope viewer.Scope, state index.State) (s *Snapshot, size float64, err error) {
	change := x.Change()
	change.after = func(bytes int64, passages int) error {
		if bytes > c.opt.Budget {
			size = float64(bytes) / float64(max(passages, 1))
			return ErrTooLarge
		}
		return nil
	}
	if err := c.feed.Changes(ctx, scope, state.Collection, x.Snapshot().Position, change); err != nil {
		return nil, size, fmt.Errorf("read the changes of a collection: %w", err)
	}
	if c.opt.Changed != nil && len(change.changed) > 0 {
		c.opt.Changed(ctx, scope, state, change.changed)
	}
	s, err = change.Commit()
	if err != nil {
		return nil, size, fmt.Errorf("take over the changes of a collection: %w", err)
	}
	if s.bytes > c.opt.Budget {
		return nil, float64(s.bytes) / float64(max(s.statistics.Passages, 1)), ErrTooLarge
	}
	return s, 0, nil
}

// finish ends an entry's flight and returns how many callers wait for it.
func (c *Cache) finish(e *entry, x *Index, s *Snapshot, size float64, err error) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	f := e.flight
	e.flight, f.err = nil, err
	e.caught = time.Now()
	switch {
	case err == nil:
		if e.index == nil {
			c.stats.Loads++
		} else {
			c.stats.CatchUps++
		}
		e.index, e.bytes, e.size = x, s.bytes, 0
		c.makeRoom(e)
	case errors.Is(err, ErrTooLarge), errors.Is(err, errOlder):
		e.index, e.bytes, e.size = nil, 0, size
		c.stats.Failures++
	default:
		if e.index == nil {
			e.bytes = 0
		}
		c.stats.Failures++
	}
	if c.closed {
		e.index, f.err = nil, ErrClosed
	}
	close(f.done)
	return f.waiting
}

// makeRoom lets go of the indexes used longest ago until the rest is within the
// budget. The given one, and what is being read, stays.
func (c *Cache) makeRoom(stays *entry) {
	sum := int64(0)
	for _, e := range c.entries {
		sum += e.bytes
	}
	for sum > c.opt.Budget {
		var oldest *entry
		for _, e := range c.entries {
			if e != stays && e.index != nil && e.flight == nil && (oldest == nil || e.used < oldest.used) {
				oldest = e
			}
		}
		if oldest == nil {
			return
		}
		sum -= oldest.bytes
		c.stats.Evictions++
		delete(c.entries, oldest.key)
	}
}
