package graph

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// likely is where a search looks as long as nothing else is known.
type likely struct {
	scope viewer.Scope
	// among is, where scope is a guess, what the key reaches: the guess is right
	// when the oldest collection of it is the one that was guessed.
	among *viewer.Scope
	guess uuid.UUID
}

// likelyScope is searchScope without waiting where a key's default collection
// has been asked for before: it is hardly ever another one than the last time.
// What it says holds only when confirm, which is to be called after the search,
// returns the same collection: that was looked up after likelyScope was called.
func (r *Resolver) likelyScope(ctx context.Context, named *uuid.UUID) (likely, error) {
	if v, ok := viewer.From(ctx); ok && named == nil && v.Kind == viewer.KindKey && v.DefaultCollection == uuid.Nil {
		if guess, known := r.defaults.get(v.Subject); known {
			whole, err := v.Scope()
			if err == nil {
				var scope viewer.Scope
				if scope, err = whole.Narrow(guess); err == nil {
					return likely{scope: scope, among: &whole, guess: guess}, nil
				}
			} // else it is not the key's any more
		}
	}
	scope, err := r.searchScope(ctx, named)
	return likely{scope: scope}, err
}

// confirm returns what searchScope would have returned in place of l. same tells
// that it is what l says. found is what a search within l found that was made
// with l.among as its OldestAmong, nil when it failed. A search that could not
// tell, as when the guessed collection is gone, is made up for by asking anew.
func (r *Resolver) confirm(ctx context.Context, l likely, found *search.Results) (scope viewer.Scope, same bool, err error) {
	if l.among == nil {
		return l.scope, true, nil
	}
	v, _ := viewer.From(ctx)
	var actual uuid.UUID
	if found != nil {
		actual = found.Oldest
	}
	if actual == uuid.Nil {
		if actual, err = r.defaultCollection(ctx, v); err != nil {
			return viewer.Scope{}, false, err
		}
	}
	if actual == l.guess {
		return l.scope, true, nil
	}
	r.defaults.set(v.Subject, actual)
	scope, err = l.among.Narrow(actual)
	return scope, false, err
}

// defaults are the default collections that keys without one of their own had
// the last time. nil and the zero value know none; nil learns none.
type defaults struct {
	mutex sync.Mutex
	known map[uuid.UUID]uuid.UUID // by key
}

// mostDefaults is of how many keys the default is remembered; then all are forgotten.
const mostDefaults = 10_000

func (d *defaults) get(key uuid.UUID) (uuid.UUID, bool) {
	if d == nil {
		return uuid.Nil, false
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	id, ok := d.known[key]
	return id, ok
}

func (d *defaults) set(key, collection uuid.UUID) {
	if d == nil {
		return
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.known == nil || len(d.known) >= mostDefaults {
		d.known = make(map[uuid.UUID]uuid.UUID)
	}
	d.known[key] = collection
}
