package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/magpie-search/magpie/internal/index"
)

// A Tier chooses the place in which a collection is searched.
type Tier string

// The tiers. The processes of a benchmark of the others have no memory for collections.
const (
	TierMemory     Tier = "memory"     // in memory, as far as it fits, or else in PostgreSQL
	TierPostgreSQL Tier = "postgresql" // in PostgreSQL
	TierEngine     Tier = "engine"     // by candidates of the search engine of ENGINE_URL
)

// searchTier returns the setting of a collection.
func (t Tier) searchTier() string {
	switch t {
	case TierEngine:
		return "ENGINE"
	case TierPostgreSQL:
		return "POSTGRESQL"
	case TierMemory:
	}
	return "AUTO"
}

// measureTier measures a server that it starts. The collection is in the search engine
// before, if the tier is that.
func (r *searchRun) measureTier(ctx context.Context, tier Tier, size *SearchSize) error {
	size.Tier = tier
	if err := r.setTier(ctx, tier); err != nil {
		return err
	}
	if tier != TierEngine {
		return r.measureServer(ctx, size)
	}
	if err := r.measureProjected(ctx, size); err != nil {
		return err
	}
	// No worker takes the collection out of the engine meanwhile.
	return r.stack.Display.Step("both tiers are compared", func() (err error) {
		size.Agreement, err = r.compareTiers(ctx)
		return err
	})
}

// measureProjected measures a server while a worker projects the collection.
func (r *searchRun) measureProjected(ctx context.Context, size *SearchSize) (err error) {
	worker, err := r.stack.startWorker(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	start := time.Now()
	if err := r.stack.Display.Step("the search engine has the collection", func() error { return r.awaitEngine(ctx) }); err != nil {
		return err
	}
	size.Projection = time.Since(start)
	if err := r.measureServer(ctx, size); err != nil {
		return err
	}
	// What changed is projected and counted, too.
	return r.stack.Display.Step("the search engine has what changed", func() error {
		if err := r.stack.settle(ctx); err != nil {
			return err
		}
		return r.awaitEngine(ctx)
	})
}

func (r *searchRun) setTier(ctx context.Context, tier Tier) error {
	if err := r.stack.execute(ctx, "update collections set search_tier = $1 where id = $2", tier.searchTier(), r.target.collection); err != nil {
		return fmt.Errorf("choose the tier of the collection: %w", err)
	}
	return nil
}

// engineInterval is the time between two looks at how far the search engine is.
const engineInterval = 100 * time.Millisecond

// awaitEngine waits until every replica of the search engine is known to have everything.
func (r *searchRun) awaitEngine(ctx context.Context) error {
	ticker := time.NewTicker(engineInterval)
	defer ticker.Stop()
	for {
		has, err := r.engineHasAll(ctx)
		if has || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *searchRun) engineHasAll(ctx context.Context) (bool, error) {
	states, err := r.stack.Index.States(ctx, r.stack.Scope)
	if err != nil {
		return false, fmt.Errorf("look how far the collection is: %w", err)
	}
	projections, err := r.stack.Index.Projections(ctx, r.stack.Scope)
	if err != nil {
		return false, fmt.Errorf("look how far the search engine is: %w", err)
	}
	s := slices.IndexFunc(states, func(s index.State) bool { return s.Collection == r.target.collection })
	p := slices.IndexFunc(projections, func(p index.Projection) bool { return p.Collection == r.target.collection })
	switch {
	case s < 0 || p < 0:
		return false, nil
	case projections[p].State == index.ProjectionFailed:
		return false, fmt.Errorf("the search engine refuses the collection: %s", projections[p].LastError)
	}
	return projections[p].State == index.ProjectionReady && projections[p].Confirmed.Change >= states[s].Change, nil
}
