package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Options bounds what searches cost; the zero value is ready to use.
type Options struct {
	// Timeout bounds each statement, 10 s by default.
	Timeout time.Duration
	// LookUps is about how many passages the words of a request may look up,
	// 600 by default; twice as many under a filter that leaves less than half of
	// the passages, and twice as many in a collection that has no indexes, whose
	// passages are all looked at in any case. Commoner words beyond it add to
	// scores only.
	LookUps int
	// Neighbours is the most passages that are looked up by similarity where
	// there is a vector index, 100 by default.
	Neighbours int
	// Whole is up to how many passages that a filter leaves are all looked at,
	// 2000 by default: the answer is exact then.
	Whole int
}

func (o Options) complete() Options {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	for _, n := range []struct {
		value    *int
		standard int
	}{{&o.LookUps, 600}, {&o.Neighbours, 100}, {&o.Whole, 2000}} {
		if *n.value <= 0 {
			*n.value = n.standard
		}
	}
	return o
}

// Tier opens sources. It keeps samples of vectors and what filters leave
// between searches, a few megabytes, and is safe for concurrent use.
type Tier struct {
	pool    *pgxpool.Pool
	opt     Options
	samples *cache[sampleKey, []float32]
	leaves  *cache[leavesKey, leaves]
}

// New makes a Tier on the application's pool (internal/store).
func New(pool *pgxpool.Pool, opt Options) *Tier {
	return &Tier{
		pool: pool, opt: opt.complete(),
		samples: newCache[sampleKey, []float32](32),
		leaves:  newCache[leavesKey, leaves](512),
	}
}

// Open gets a connection for a search of one collection of the workspace. The
// source must be closed. It sees the database as it is when it is first asked;
// of the state only the collection, its generation and the model are used. A
// collection that is not the workspace's is empty.
func (t *Tier) Open(ctx context.Context, workspace uuid.UUID, state index.State, f *rank.Filter) (*Source, error) {
	filter, err := filterJSON(f)
	if err != nil {
		return nil, fmt.Errorf("open a collection: %w", err)
	}
	var said []rank.Phrase
	if f != nil {
		said = f.Phrases
	}
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("open a collection: get a connection: %w", err)
	}
	return &Source{
		tier: t, conn: conn, workspace: workspace, collection: state.Collection, model: state.Model,
		generation: state.Generation, filter: filter, phrases: said,
		counts: make(map[string]int),
	}, nil
}
