package engine

import (
	"context"
	"errors"
	"maps"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/resident"
	"github.com/magpie-search/magpie/internal/viewer"
)

// errNotProjected is returned for a collection that the backend does not have, or has in
// another generation.
var errNotProjected = errors.New("the search engine does not have the collection")

// overlayFeed reads the changes of collections for overlays: an empty overlay begins at the
// watermark of the backend, and has the documents that the backend refuses. Those that it
// refuses later changed after the watermark.
type overlayFeed struct{ tier *Tier }

// Changes implements resident.Feed.
func (f overlayFeed) Changes(ctx context.Context, scope viewer.Scope, state index.State, after index.Position, r index.ChangeReader) error {
	t := f.tier
	if after != (index.Position{}) {
		return t.opt.Feed.Changes(ctx, scope, state, after, sameGeneration{r, false})
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return err
	}
	p, ok, err := t.projection(ctx, workspace, state.Collection)
	if err != nil {
		return err
	}
	if !ok {
		return errNotProjected
	}
	t.begin(place{workspace, state.Collection}, p.Change)
	if err := t.opt.Feed.Changes(ctx, scope, state, p.Position, sameGeneration{r, true}); err != nil || len(p.Refused) == 0 {
		return err
	}
	return t.opt.Feed.Entries(ctx, scope, state.Collection, p.Refused, false, more{r, p.Generation})
}

// more is a reader that has begun.
type more struct {
	index.ChangeReader
	generation int64
}

// Begin implements index.ChangeReader.
func (r more) Begin(at index.Position, _ string, _ bool) error {
	if at.Generation != r.generation {
		return errNotProjected
	}
	return nil
}

// sameGeneration is the reader of an overlay. It refuses to read a whole collection, as the
// feed offers when the generation is another one. With first, what follows is all that the
// overlay has.
type sameGeneration struct {
	index.ChangeReader
	first bool
}

// Begin implements index.ChangeReader.
func (r sameGeneration) Begin(at index.Position, model string, all bool) error {
	if all {
		return errNotProjected
	}
	return r.ChangeReader.Begin(at, model, r.first)
}

// A place is a collection of a workspace.
type place struct{ workspace, collection uuid.UUID }

// begin notes where an overlay begins, and forgets those that are gone.
func (t *Tier) begin(at place, base int64) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	maps.DeleteFunc(t.bases, func(p place, _ int64) bool { return !t.overlays.Has(p.workspace, p.collection) })
	t.bases[at] = base
}

// renew drops a large overlay of which the backend has half by now, so that the next search
// reads a smaller one.
func (t *Tier) renew(workspace, collection uuid.UUID, watermark index.Position, s *resident.Snapshot) {
	if s.Statistics().Passages < overlayRenewal {
		return
	}
	t.mutex.Lock()
	base := t.bases[place{workspace, collection}]
	t.mutex.Unlock()
	if watermark.Change > base && 2*(watermark.Change-base) >= s.Change-base {
		t.overlays.Drop(workspace, collection)
	}
}
