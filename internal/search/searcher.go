package search

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A searcher holds the collections of one search, each opened in its tier. It must be
// closed.
type searcher struct {
	engine      *Engine
	workspace   uuid.UUID
	parts       []rank.Part        // of the collections that the query searches
	states      []index.State      // of the parts
	collections []openCollection   // of the parts, then those that only facets count
	sources     []*postgres.Source // each holds a connection
	connections int64              // acquired from the engine
	opt         openOptions
	lexicalOnly bool
	ratings     map[uuid.UUID]float64 // of the reranker, by passage
}

// openOptions say how to open collections.
type openOptions struct {
	current        bool // see every committed change, required or not
	storedOnly     bool // do not use the resident tier
	allCollections bool // also open collections that the filters exclude, for facets
}

// openCollection is a collection in its tier: snapshot or source is nil.
type openCollection struct {
	state       index.State
	part        rank.Part
	snapshot    *resident.Snapshot
	source      *postgres.Source
	distributed *engine.Collection // finds candidates for source; nil if source finds them
	readers     readers
}

// tier returns where the collection is searched.
func (c *openCollection) tier() Tier {
	switch {
	case c.snapshot != nil:
		return TierResident
	case c.distributed != nil:
		return TierEngine
	default:
		return TierStored
	}
}

// stored returns a source of PostgreSQL as the part's, which has a filter.
func (c *openCollection) stored(source *postgres.Source, f *rank.Filter) rank.Source {
	if c.distributed != nil {
		return c.distributed.Source(source, f)
	}
	return source
}

// hides reports whether the collection has documents that the viewer, or a query that is
// narrowed to principals, may not read.
func (c *openCollection) hides(narrowed []string) bool {
	if !c.state.Restricted && c.state.OpenConnectors == nil {
		return false
	}
	return !c.readers.Everything() || narrowed != nil
}

// filtered returns the collection as a part with another filter.
func (c *openCollection) filtered(ctx context.Context, f *rank.Filter) (rank.Part, error) {
	part := c.part
	if c.snapshot != nil {
		part.Source = c.snapshot.View(c.readers.restrict(f, &c.state, TierResident))
		return part, nil
	}
	restricted := c.readers.restrict(f, &c.state, TierStored)
	source, err := c.source.With(ctx, restricted)
	if err != nil {
		return rank.Part{}, err
	}
	part.Source = c.stored(source, restricted)
	return part, nil
}

// open opens the collections with the given states. The parts have no vectors before
// respell.
func (e *Engine) open(ctx context.Context, scope viewer.Scope, states []index.State, q *Query, question *rank.Question, opt openOptions) (_ *searcher, err error) {
	s := &searcher{engine: e, opt: opt}
	readers, err := readersOf(ctx)
	if err != nil {
		return nil, err
	}
	if s.workspace, err = scope.Workspace(); err != nil {
		return nil, err
	}
	filter := q.Filters.filter()
	if question != nil {
		question.Restrict(filter)
	}
	defer func() {
		if err != nil {
			s.close(ctx)
		}
	}()
	var stored []openCollection
	for _, state := range states {
		if !opt.allCollections && !q.Filters.includes(state.Collection) {
			continue
		}
		if opt.current {
			state.Required = state.Change
		}
		c := openCollection{state: state, readers: readers}
		isResident := false
		if !opt.storedOnly {
			if isResident, err = e.openResident(ctx, scope, &c); err != nil {
				return nil, err
			}
		}
		if !isResident {
			if e.opt.Distributed != nil && !opt.storedOnly {
				if c.distributed, err = e.opt.Distributed.Open(ctx, scope, &state); err != nil {
					return nil, fmt.Errorf("open a collection: %w", err)
				}
			}
			stored = append(stored, c)
			continue
		}
		c.part.Source = c.snapshot.View(readers.restrict(filter, &state, TierResident))
		s.collections = append(s.collections, c)
	}
	if err := s.openStored(ctx, stored, filter); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.collections, func(a, b openCollection) int {
		switch x, y := q.Filters.includes(a.state.Collection), q.Filters.includes(b.state.Collection); {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	})
	for i := range s.collections {
		c := &s.collections[i]
		if c.hides(q.Filters.Readers) {
			c.part.Readable = func(ctx context.Context) (rank.Source, error) {
				part, err := c.filtered(ctx, &rank.Filter{Readers: q.Filters.Readers})
				return part.Source, err
			}
		}
		c.part.Tier = string(c.tier())
		if c.snapshot != nil {
			c.part.Languages = c.snapshot.Languages()
		}
		if q.Filters.includes(c.state.Collection) {
			s.parts, s.states = append(s.parts, c.part), append(s.states, c.state)
		}
	}
	return s, nil
}

// embed gives the parts the vectors of a question.
func (s *searcher) embed(ctx context.Context, question string) {
	vectors := queryVectors{engine: s.engine, text: question}
	for i := range s.collections {
		c := &s.collections[i]
		p := vectors.part(ctx, c.state.Model)
		p.Source, p.Tier, p.Languages, p.Readable = c.part.Source, c.part.Tier, c.part.Languages, c.part.Readable
		c.part = p
		if i < len(s.parts) {
			s.parts[i] = p
		}
	}
	s.lexicalOnly = vectors.missing
}

// openResident opens a collection in the resident tier. ok is false if the collection is too
// large or still being loaded.
func (e *Engine) openResident(ctx context.Context, scope viewer.Scope, c *openCollection) (ok bool, err error) {
	if e.resident == nil {
		return false, nil
	}
	c.snapshot, err = e.resident.Snapshot(ctx, scope, c.state)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, resident.ErrLoading), errors.Is(err, resident.ErrTooLarge):
		return false, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	return false, fmt.Errorf("load a collection: %w", err)
}

// openStored opens collections in the stored tier. It acquires all connections at once:
// searches that acquire them one by one could wait for each other forever.
func (s *searcher) openStored(ctx context.Context, collections []openCollection, f *rank.Filter) error {
	n := int64(len(collections))
	if n == 0 {
		return nil
	}
	if n > s.engine.maxConns {
		return apierr.Invalid("collection", "too many large collections at once; name one")
	}
	if err := s.engine.connections.Acquire(ctx, n); err != nil {
		return fmt.Errorf("wait for connections: %w", err)
	}
	s.connections = n
	for _, c := range collections {
		restricted := c.readers.restrict(f, &c.state, TierStored)
		source, err := s.engine.stored.Open(ctx, s.workspace, c.state, restricted)
		if err != nil {
			return err
		}
		s.sources = append(s.sources, source)
		c.source, c.part.Source = source, c.stored(source, restricted)
		s.collections = append(s.collections, c)
	}
	return nil
}

// close releases the connections.
func (s *searcher) close(ctx context.Context) {
	for _, source := range s.sources {
		source.Close(ctx)
	}
	s.engine.connections.Release(s.connections)
	s.sources, s.connections = nil, 0
}
