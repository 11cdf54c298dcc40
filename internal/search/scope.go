package search

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// ErrNoCollection is returned for a query that names a collection that does not exist, or
// that defaults to the oldest collection where there is none.
var ErrNoCollection = index.ErrNoCollection

// states returns the states of the collections that the query searches. They are in scope;
// those that the filters exclude are among them.
func (e *Engine) states(ctx context.Context, scope viewer.Scope, q *Query) ([]index.State, error) {
	var states []index.State
	switch {
	case q.Collection != nil:
		narrow, err := scope.Narrow(*q.Collection)
		if err != nil {
			return nil, err
		}
		if states, err = e.store.States(ctx, narrow); err != nil {
			return nil, err
		}
		if len(states) == 0 {
			return nil, ErrNoCollection
		}
	case q.DefaultToOldest:
		state, err := e.store.OldestState(ctx, scope)
		if err != nil {
			return nil, err
		}
		states = []index.State{state}
	default:
		var err error
		if states, err = e.store.States(ctx, scope); err != nil {
			return nil, err
		}
	}
	return states, e.checkFilter(ctx, scope, states, q.Filters.Collections)
}

// checkFilter checks that the collections of a filter exist in scope. states are known to
// exist.
func (e *Engine) checkFilter(ctx context.Context, scope viewer.Scope, states []index.State, collections []uuid.UUID) error {
	var unknown []uuid.UUID
	for _, id := range collections {
		if !slices.ContainsFunc(states, func(s index.State) bool { return s.Collection == id }) && !slices.Contains(unknown, id) {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	narrow, err := scope.Narrow(unknown...)
	if err != nil {
		return err
	}
	existing, err := e.store.States(ctx, narrow)
	if err != nil {
		return err
	}
	if len(existing) < len(unknown) {
		return ErrNoCollection
	}
	return nil
}

// onlyCollection returns the only collection that a query can search; uuid.Nil if there may
// be several.
func onlyCollection(scope viewer.Scope, states []index.State, q *Query) uuid.UUID {
	if q.Collection != nil || q.DefaultToOldest {
		return states[0].Collection
	}
	if ids, all := scope.Collections(); !all && len(ids) == 1 {
		return ids[0]
	}
	return uuid.Nil
}
