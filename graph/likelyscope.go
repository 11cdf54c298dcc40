package graph

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"magpie/internal/viewer"
)

// likelyScope is searchScope without waiting where a key's default collection
// has been asked for before: it is hardly ever another one than the last time.
// What it says holds only when confirm, which is to be called in any case and
// may be called again, returns the same collection: that was looked up after
// likelyScope was called, while the caller was busy with the scope.
func (r *Resolver) likelyScope(ctx context.Context, named *uuid.UUID) (reach viewer.Scope, confirm func() (viewer.Scope, bool, error), err error) {
	v, ok := viewer.From(ctx)
	guess, known := uuid.Nil, false
	if ok && named == nil && v.Kind == viewer.KindKey && v.DefaultCollection == uuid.Nil {
		guess, known = r.defaults.get(v.Subject)
	}
	if known {
		reach, err = v.Scope()
		if err == nil {
			reach, err = reach.Narrow(guess)
		}
		known = err == nil // else it is not the key's any more
	}
	if !known {
		reach, err = r.searchScope(ctx, named)
		return reach, func() (viewer.Scope, bool, error) { return reach, true, err }, err
	}
	type answer struct {
		id    uuid.UUID
		err   error
		panic any
	}
	asked := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			a.panic = recover()
			asked <- a
		}()
		a.id, a.err = r.defaultCollection(ctx, v)
	}()
	wait := sync.OnceValue(func() answer { return <-asked })
	return reach, func() (viewer.Scope, bool, error) {
		a := wait()
		switch {
		case a.panic != nil:
			panic(a.panic)
		case a.err != nil:
			return viewer.Scope{}, false, a.err
		case a.id == guess:
			return reach, true, nil
		}
		whole, err := v.Scope()
		if err != nil {
			return viewer.Scope{}, false, err
		}
		actual, err := whole.Narrow(a.id)
		return actual, false, err
	}, nil
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
