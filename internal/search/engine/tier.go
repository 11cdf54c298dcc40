package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/request/breaker"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Projection is what a backend has of a collection.
type Projection struct {
	Class string
	// Position is the watermark: every live passage of a document that last changed up to
	// it is in every replica of the class, but for those of Refused. Its change number is above
	// 0.
	index.Position
	Model string // of the vectors
	// Refused are documents that the class does not have completely all the same.
	Refused []uuid.UUID
}

// A Feed reads documents of collections, those that changed or some by their ids;
// index.Store is one.
type Feed interface {
	resident.Feed
	Entries(ctx context.Context, scope viewer.Scope, collection uuid.UUID, documents []uuid.UUID, bare bool, r index.ChangeReader) error
}

// Projections tells what a backend has of the collections of a workspace, by collection.
// Collections that cannot be searched in the backend yet are left out. A projection may be
// older than the truth, never ahead of it.
type Projections func(ctx context.Context, workspace uuid.UUID) (map[uuid.UUID]Projection, error)

// Options tune a Tier; the zero values of all but Projections and Feed are ready to use.
type Options struct {
	Projections Projections
	Feed        Feed
	// Timeout bounds the time that a search waits for the backend, 300 ms by default. After
	// it the search uses PostgreSQL alone.
	Timeout time.Duration
	// OverlayMemory bounds the bytes of all overlays together, 256 MiB by default. A
	// collection whose overlay does not fit is searched in PostgreSQL alone until the
	// backend has caught up.
	OverlayMemory int64
	// Log gets failures of the backend; nil discards them.
	Log *slog.Logger
}

// A Tier searches collections in a Backend. It is safe for concurrent use.
type Tier struct {
	backend     Backend
	opt         Options
	breaker     *breaker.Breaker
	projections *ttlcache.Cache[uuid.UUID, map[uuid.UUID]Projection] // by workspace
	overlays    *resident.Cache

	mutex  sync.Mutex
	bases  map[place]int64      // watermarks at which overlays begin
	paused map[string]time.Time // until when the backend is not asked, by class

	searches, failures, doubts, fallbacks atomic.Int64
}

const (
	// projectionAge is the age up to which projections are used without reading them again.
	projectionAge = time.Second
	// enginePause is the time that nobody asks a backend that failed, or one for a class that
	// it refused to search.
	enginePause = 5 * time.Second
	// overlayRenewal is the number of passages from which an overlay is read again once the
	// backend has half of what it is for.
	overlayRenewal = 5000
)

// New returns a Tier. Close stops its work, but does not close the backend.
func New(b Backend, opt Options) *Tier {
	if opt.Timeout <= 0 {
		opt.Timeout = 300 * time.Millisecond
	}
	if opt.OverlayMemory <= 0 {
		opt.OverlayMemory = 256 << 20
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tier{
		backend: b, opt: opt, bases: make(map[place]int64), paused: make(map[string]time.Time),
		breaker: breaker.New(breaker.Options{Pause: enginePause, MaxPause: 6 * enginePause}),
	}
	t.projections = ttlcache.New(func(ctx context.Context, workspace uuid.UUID) (map[uuid.UUID]Projection, bool, error) {
		found, err := opt.Projections(ctx, workspace)
		return found, err == nil, err
	}, ttlcache.Options{MaxAge: projectionAge})
	t.overlays = resident.NewCache(overlayFeed{t}, resident.CacheOptions{Budget: opt.OverlayMemory, Log: opt.Log})
	return t
}

// Close stops the background work of the tier.
func (t *Tier) Close() {
	t.overlays.Close()
	t.projections.Close()
}

// Stats are counts of a tier since its start.
type Stats struct {
	Searches  int64 // requests of searches for candidates
	Failures  int64 // of the backend
	Doubts    int64 // answers of the backend that lacked what PostgreSQL knows to be there
	Fallbacks int64 // requests that PostgreSQL answered alone, because of a failure, a pause after failures, a doubt, positions that the backend does not know, or an overlay that was missing
	Overlays  resident.CacheStats
}

// Stats returns the current counts.
func (t *Tier) Stats() Stats {
	return Stats{t.searches.Load(), t.failures.Load(), t.doubts.Load(), t.fallbacks.Load(), t.overlays.Stats()}
}

// A Collection is a collection that a search finds candidates of in the backend.
type Collection struct {
	tier    *Tier
	class   string
	overlay *resident.Snapshot // of what changed after the watermark; nil for nothing
}

// Open opens a collection for one search. It is nil if the backend does not have the
// collection, or if the overlay is missing.
func (t *Tier) Open(ctx context.Context, scope viewer.Scope, state *index.State) (*Collection, error) {
	narrow, err := scope.Narrow(state.Collection)
	if err != nil {
		return nil, fmt.Errorf("find a collection in the search engine: %w", err)
	}
	workspace, err := narrow.Workspace()
	if err != nil {
		return nil, fmt.Errorf("find a collection in the search engine: %w", err)
	}
	p, ok, err := t.projection(ctx, workspace, state.Collection)
	if err != nil || !ok || p.Generation != state.Generation || p.Model != state.Model {
		return nil, err
	}
	c := &Collection{tier: t, class: p.Class}
	if p.Change >= state.Required && len(p.Refused) == 0 {
		return c, nil
	}
	unknown := *state
	unknown.Passages = 0 // of the overlay
	c.overlay, err = t.overlays.Snapshot(ctx, narrow, unknown)
	switch {
	case err == nil:
		t.renew(workspace, state.Collection, p.Position, c.overlay)
		return c, nil
	case errors.Is(err, resident.ErrLoading), errors.Is(err, resident.ErrTooLarge), errors.Is(err, errNotProjected):
		t.fallbacks.Add(1)
		return nil, nil //nolint:nilnil // PostgreSQL searches it
	}
	return nil, fmt.Errorf("read what the search engine lacks: %w", err)
}

// projection returns what the backend has of a collection.
func (t *Tier) projection(ctx context.Context, workspace, collection uuid.UUID) (p Projection, ok bool, err error) {
	all, _, err := t.projections.Get(ctx, workspace)
	if err != nil {
		return p, false, fmt.Errorf("find collections in the search engine: %w", err)
	}
	p, ok = all[collection]
	return p, ok && p.Change > 0, nil
}

// pause makes searches leave a class alone for a while.
func (t *Tier) pause(class string) {
	now := time.Now()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	maps.DeleteFunc(t.paused, func(_ string, until time.Time) bool { return !now.Before(until) })
	t.paused[class] = now.Add(enginePause)
}

func (t *Tier) isPaused(class string) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return time.Now().Before(t.paused[class])
}
