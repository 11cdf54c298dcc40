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

// ErrLoading is returned for an index that is being loaded, or has not caught up with
// the state that the caller must see.
var ErrLoading = errors.New("the collection's index is being loaded")

// ErrClosed is returned by a closed cache.
var ErrClosed = errors.New("the cache of indexes is closed")

// A Feed reads the changes of collections; index.Store is one.
type Feed interface {
	Changes(ctx context.Context, scope viewer.Scope, state index.State, after index.Position, r index.ChangeReader) error
}

// CacheOptions tune a Cache; the zero value is ready to use.
type CacheOptions struct {
	// Budget bounds the bytes of all indexes together, 1 GiB by default. Loading or
	// rewriting a collection takes more for a moment.
	Budget int64
	// MaxWait bounds the time that a caller waits for an index, 1 s by default.
	MaxWait time.Duration
	// MaxWaitUnindexed is MaxWait for a collection without search indexes in PostgreSQL,
	// which would read the whole collection for each search; 5 s by default and at least
	// MaxWait.
	MaxWaitUnindexed time.Duration
	// CatchUpInterval is the least time between changes that are read before a search
	// requires them, 200 ms by default.
	CatchUpInterval time.Duration
	// BeforeCommit is called with the documents that have a new version, before searches
	// can find it; nil for no call. The state is that of the search for which the changes
	// were read. The changes are committed when BeforeCommit returns.
	BeforeCommit func(ctx context.Context, scope viewer.Scope, state index.State, documents []uuid.UUID)
	// WhileLoading makes the call in which a caller waits for a load; nil for nothing
	// around it. Loads take seconds, which others should not wait for with the caller.
	WhileLoading func(ctx context.Context, wait func() error) error
	// Log gets loads, and failures that no caller waits for; nil discards them.
	Log *slog.Logger
	// Index are the options of the indexes.
	Index Options
}

// A Cache holds the indexes of the most recently searched collections and keeps them
// up to date while they are searched. It is safe for concurrent use.
type Cache struct {
	feed Feed
	opt  CacheOptions
	work sync.WaitGroup

	mutex   sync.Mutex
	closed  bool
	clock   int64 // of uses
	entries map[key]*entry
	stats   CacheStats
}

// key is a collection of a workspace. A scope over all collections of a workspace can
// be narrowed to any id, so the id alone could find what another workspace has loaded.
type key struct{ workspace, collection uuid.UUID }

// An entry is a collection in the cache.
type entry struct {
	key
	index    *Index // nil if it is not loaded
	read     *read  // in progress, or nil
	bytes    int64  // of the index, or the estimate while it is being loaded
	lastUse  int64  // by Cache.clock
	lastRead time.Time
	// passageBytes is the measured size of a passage if the collection was too large,
	// else 0.
	passageBytes float64
}

// A read is a read of changes in progress that callers may wait for.
type read struct {
	isLoad  bool
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int
	err     error
}

// CacheStats are counts of a cache.
type CacheStats struct {
	Collections, Passages int // loaded
	Bytes                 int64
	// Loads, CatchUps and Failures count reads by outcome, Evictions indexes that were
	// dropped to make room.
	Loads, CatchUps, Failures, Evictions int64
}

// NewCache returns an empty cache. Close stops its work.
func NewCache(feed Feed, opt CacheOptions) *Cache {
	if opt.Budget <= 0 {
		opt.Budget = 1 << 30
	}
	if opt.MaxWait <= 0 {
		opt.MaxWait = time.Second
	}
	if opt.MaxWaitUnindexed <= 0 {
		opt.MaxWaitUnindexed = 5 * time.Second
	}
	opt.MaxWaitUnindexed = max(opt.MaxWaitUnindexed, opt.MaxWait)
	if opt.CatchUpInterval <= 0 {
		opt.CatchUpInterval = 200 * time.Millisecond
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.WhileLoading == nil {
		opt.WhileLoading = func(_ context.Context, wait func() error) error { return wait() }
	}
	return &Cache{feed: feed, opt: opt, entries: make(map[key]*entry)}
}

// Close cancels the reads in progress and waits for their end. Snapshots stay valid.
func (c *Cache) Close() {
	c.mutex.Lock()
	c.closed = true
	for _, e := range c.entries {
		if e.read != nil {
			e.read.cancel()
		}
	}
	c.mutex.Unlock()
	c.work.Wait()
}

// Stats returns the current counts.
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

// A Size is the size of a loaded index.
type Size struct {
	Passages int
	Bytes    int64
}

// Loaded returns the sizes of the loaded indexes of a workspace by collection.
func (c *Cache) Loaded(workspace uuid.UUID) map[uuid.UUID]Size {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	out := map[uuid.UUID]Size{}
	for k, e := range c.entries {
		if k.workspace == workspace && e.index != nil {
			s := e.index.Snapshot()
			out[k.collection] = Size{s.statistics.Passages, s.bytes}
		}
	}
	return out
}

// Snapshot returns the index of a collection. The snapshot has the generation of the
// state and at least its required change number. Snapshot returns ErrLoading after the
// longest wait, ErrTooLarge for a collection that does not fit, and
// viewer.ErrOutOfScope for a collection outside the scope, loaded or not.
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
	longest := c.opt.MaxWaitUnindexed
	if state.Indexed {
		longest = c.opt.MaxWait
	}
	timeout := time.NewTimer(longest)
	defer timeout.Stop()
	// A read that is already in progress may end before the required change. A read that
	// begins after this call reaches it, unless the state is ahead of the feed.
	for range 3 {
		s, pending, err := c.lookup(ctx, k, narrow, state)
		if err != nil || s != nil {
			return s, err
		}
		wait := func() error {
			select {
			case <-pending.done:
				return pending.err
			case <-timeout.C:
				return ErrLoading
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if pending.isLoad {
			err = c.opt.WhileLoading(ctx, wait)
		} else {
			err = wait()
		}
		c.mutex.Lock()
		pending.waiters--
		c.mutex.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return nil, ErrLoading
}

// Has reports whether the index of a collection of a workspace is loaded or being read.
func (c *Cache) Has(workspace, collection uuid.UUID) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	e := c.entries[key{workspace, collection}]
	return e != nil && (e.index != nil || e.read != nil)
}

// Drop forgets the index of a collection of a workspace, unless it is being read. The next
// search reads it anew.
func (c *Cache) Drop(workspace, collection uuid.UUID) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	k := key{workspace, collection}
	if e := c.entries[k]; e != nil && e.read == nil {
		delete(c.entries, k)
	}
}

// warmAttempts is the number of times that Warm waits for a load.
const warmAttempts = 10

// Warm loads the index of a collection and waits for it. It evicts nothing: a
// collection that does not fit beside the loaded ones is ErrTooLarge.
func (c *Cache) Warm(ctx context.Context, scope viewer.Scope, state index.State) error {
	c.mutex.Lock()
	free := c.opt.Budget - TypicalPassageBytes*state.Passages
	for _, e := range c.entries {
		if e.collection != state.Collection {
			free -= e.bytes
		}
	}
	c.mutex.Unlock()
	if free < 0 {
		return ErrTooLarge
	}
	for range warmAttempts {
		if _, err := c.Snapshot(ctx, scope, state); !errors.Is(err, ErrLoading) {
			return err
		}
	}
	return ErrLoading
}

// lookup returns the snapshot if it is loaded, else the read to wait for.
func (c *Cache) lookup(ctx context.Context, k key, scope viewer.Scope, state index.State) (*Snapshot, *read, error) {
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
	c.clock++
	e.lastUse = c.clock
	if e.index != nil {
		switch s := e.index.Snapshot(); {
		case s.Generation > state.Generation:
			// The caller's state is outdated, and so may be the model that it embeds
			// questions with.
			return nil, nil, ErrLoading
		case s.Generation == state.Generation && s.Change >= state.Required:
			if s.Change < state.Change && e.read == nil && time.Since(e.lastRead) >= c.opt.CatchUpInterval {
				c.startRead(ctx, e, scope, state)
			}
			return s, nil, nil
		case s.Generation < state.Generation && e.read == nil:
			e.index = nil // the new generation uses nothing of it
		}
	}
	if e.read == nil {
		if e.index == nil {
			passageBytes := e.passageBytes
			if passageBytes == 0 {
				passageBytes = minPassageBytes
			}
			if passageBytes*float64(state.Passages) > float64(c.opt.Budget) {
				return nil, nil, ErrTooLarge
			}
			e.bytes = min(c.opt.Budget, max(int64(e.passageBytes), TypicalPassageBytes)*state.Passages)
			c.makeRoom(e)
		}
		c.startRead(ctx, e, scope, state)
	}
	e.read.waiters++
	return nil, e.read, nil
}

const (
	// minPassageBytes is the least memory of a passage: a few words without a vector.
	minPassageBytes = 100
	// TypicalPassageBytes is the approximate memory of a passage with a vector of 384
	// components.
	TypicalPassageBytes = 1 << 10
)

// startRead starts to read the changes that an entry lacks. The read continues when the
// caller's context ends.
func (c *Cache) startRead(ctx context.Context, e *entry, scope viewer.Scope, state index.State) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	x := e.index
	isLoad := x == nil
	e.read = &read{isLoad: isLoad, done: make(chan struct{}), cancel: cancel}
	if isLoad {
		x = New(c.opt.Index)
	}
	c.work.Go(func() {
		defer cancel()
		began := time.Now()
		s, passageBytes, err := c.update(ctx, x, scope, state)
		waiters := c.finishRead(e, x, s, passageBytes, err)
		switch {
		case err == nil && isLoad:
			c.opt.Log.InfoContext(ctx, "index loaded", slog.Any("collection", e.collection),
				slog.Int("passages", s.statistics.Passages), slog.Int64("bytes", s.bytes), slog.Duration("took", time.Since(began)))
		case err != nil && waiters == 0 && ctx.Err() == nil:
			// A waiting caller gets the error instead.
			c.opt.Log.WarnContext(ctx, "index update failed", slog.Any("collection", e.collection), slog.Any("error", err))
		}
	})
}

// update brings an index up to date. With ErrTooLarge it may return the measured size
// of a passage.
func (c *Cache) update(ctx context.Context, x *Index, scope viewer.Scope, state index.State) (s *Snapshot, passageBytes float64, err error) {
	change := x.Change()
	change.checkSize = func(bytes int64, passages int) error {
		if bytes > c.opt.Budget {
			passageBytes = float64(bytes) / float64(max(passages, 1))
			return ErrTooLarge
		}
		return nil
	}
	if err := c.feed.Changes(ctx, scope, state, x.Snapshot().Position, change); err != nil {
		return nil, passageBytes, fmt.Errorf("read the changes of a collection: %w", err)
	}
	if c.opt.BeforeCommit != nil && len(change.changed) > 0 {
		c.opt.BeforeCommit(ctx, scope, state, change.changed)
	}
	s, err = change.Commit()
	if err != nil {
		return nil, passageBytes, fmt.Errorf("commit the changes of a collection: %w", err)
	}
	if s.bytes > c.opt.Budget {
		return nil, float64(s.bytes) / float64(max(s.statistics.Passages, 1)), ErrTooLarge
	}
	return s, 0, nil
}

// finishRead stores the outcome of an entry's read. It returns the number of callers
// that wait for it.
func (c *Cache) finishRead(e *entry, x *Index, s *Snapshot, passageBytes float64, err error) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	r := e.read
	e.read, r.err = nil, err
	e.lastRead = time.Now()
	switch {
	case err == nil:
		if e.index == nil {
			c.stats.Loads++
		} else {
			c.stats.CatchUps++
		}
		e.index, e.bytes, e.passageBytes = x, s.bytes, 0
		c.makeRoom(e)
	case errors.Is(err, ErrTooLarge), errors.Is(err, errOutdated):
		e.index, e.bytes, e.passageBytes = nil, 0, passageBytes
		c.stats.Failures++
	default:
		if e.index == nil {
			e.bytes = 0
		}
		c.stats.Failures++
	}
	if c.closed {
		e.index, r.err = nil, ErrClosed
	}
	close(r.done)
	return r.waiters
}

// makeRoom evicts the least recently used indexes until the others are within the
// budget. It evicts neither the given entry nor entries with a read in progress.
func (c *Cache) makeRoom(keep *entry) {
	sum := int64(0)
	for _, e := range c.entries {
		sum += e.bytes
	}
	for sum > c.opt.Budget {
		var oldest *entry
		for _, e := range c.entries {
			if e != keep && e.index != nil && e.read == nil && (oldest == nil || e.lastUse < oldest.lastUse) {
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
