package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/store/replica"
)

// Options bound the cost of searches; the zero value is ready to use.
type Options struct {
	// Timeout bounds each statement, 10 s by default.
	Timeout time.Duration
	// LookupBudget is the approximate number of passages that the words of a request may
	// look up, 600 by default. It is doubled for a filter that selects less than half of
	// the passages, and for a collection without search indexes, whose passages are all
	// scanned anyway. Words too common for the budget only add to scores.
	LookupBudget int
	// Neighbours is the largest number of passages that the vector index looks up, 100 by
	// default.
	Neighbours int
	// FullScan is the largest number of selected passages that are all scanned, 2000 by
	// default. The answer is exact then.
	FullScan int
	// Readers choose the servers of the searches; nil for the pool alone.
	Readers *replica.Readers
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	for _, n := range []struct {
		value    *int
		fallback int
	}{{&o.LookupBudget, 600}, {&o.Neighbours, 100}, {&o.FullScan, 2000}} {
		if *n.value <= 0 {
			*n.value = n.fallback
		}
	}
	return o
}

// A Tier opens sources. It caches vector samples and the selections of filters, a few
// megabytes. It is safe for concurrent use.
type Tier struct {
	opt        Options
	samples    *cache[sampleKey, []float32]
	selections *cache[selectionKey, selection]
}

// New returns a Tier on the application's pool (internal/store).
func New(pool *pgxpool.Pool, opt Options) *Tier {
	if opt.Readers == nil {
		opt.Readers = replica.Primary(pool)
	}
	return &Tier{
		opt:        opt.withDefaults(),
		samples:    newCache[sampleKey, []float32](32),
		selections: newCache[selectionKey, selection](512),
	}
}

// Open acquires a connection for a search of one collection of the workspace. The
// caller closes the source. The source's snapshot of the database is that of its first
// query, or of Open on a replica, which must have reached the state. Otherwise Open uses
// only collection, generation and model of the state. A collection of another workspace
// is empty. After a *replica.Fault the search must be repeated (replica.Readers.Do).
func (t *Tier) Open(ctx context.Context, workspace uuid.UUID, state index.State, f *rank.Filter) (*Source, error) {
	filter, err := filterJSON(f)
	if err != nil {
		return nil, fmt.Errorf("open a collection: %w", err)
	}
	s := &Source{
		tier: t, workspace: workspace, collection: state.Collection, model: state.Model,
		generation: state.Generation, filter: filter, frequencies: make(map[string]int),
	}
	if f != nil {
		s.phrases = f.Phrases
	}
	if err := s.connect(ctx, &state); err != nil {
		return nil, fmt.Errorf("open a collection: %w", err)
	}
	return s, nil
}
