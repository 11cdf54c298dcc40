package viewer

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
)

// ErrNoViewer is returned for the scope of a context without a viewer.
var ErrNoViewer = errors.New("no viewer in the context")

// ErrOutOfScope is returned when a scope is narrowed to a collection that its
// viewer may not read. It does not reveal whether the collection exists.
var ErrOutOfScope = errors.New("collection out of scope")

// ErrNoScope is returned by the zero Scope.
var ErrNoScope = errors.New("the zero scope contains nothing")

// A Scope is what plain SQL may read: one workspace, and all or some of its
// collections. Only this package makes a Scope. The zero value returns errors, so
// that a forgotten scope fails and never widens.
type Scope struct {
	workspace   uuid.UUID
	collections []uuid.UUID
	all         bool
}

// ScopeOf returns everything that the viewer in ctx may read.
func ScopeOf(ctx context.Context) (Scope, error) {
	v, ok := From(ctx)
	if !ok {
		return Scope{}, ErrNoViewer
	}
	return v.Scope()
}

// Scope returns everything that v may read. A viewer without a workspace has no
// scope.
func (v Viewer) Scope() (Scope, error) {
	if v.Workspace == uuid.Nil || v.Kind == KindAnonymous || v.Kind == "" {
		return Scope{}, ErrNoScope
	}
	return Scope{workspace: v.Workspace, all: v.AllCollections, collections: slices.Clone(v.Collections)}, nil
}

// DefaultScope returns the scope of a request that names no collection. It is all of
// Scope, except for a key: a key with a default collection uses only that one, and a key
// without one uses only the oldest collection in scope. In the latter case oldest is true.
func (v Viewer) DefaultScope() (scope Scope, oldest bool, err error) {
	scope, err = v.Scope()
	switch {
	case err != nil || v.Kind != KindKey:
		return scope, false, err
	case v.DefaultCollection == uuid.Nil:
		return scope, true, nil
	default:
		scope, err = scope.Narrow(v.DefaultCollection)
		return scope, false, err
	}
}

// Narrow returns a scope of only the given collections, which may be none. It
// returns ErrOutOfScope if one of them is not within s. A scope over all
// collections does not check the ids: an id of another workspace matches no row,
// because the workspace is part of the scope.
func (s Scope) Narrow(collections ...uuid.UUID) (Scope, error) {
	if s.workspace == uuid.Nil {
		return Scope{}, ErrNoScope
	}
	if !s.all {
		for _, id := range collections {
			if !slices.Contains(s.collections, id) {
				return Scope{}, ErrOutOfScope
			}
		}
	}
	return Scope{workspace: s.workspace, collections: slices.Clone(collections)}, nil
}

// Workspace returns the workspace of s, or ErrNoScope.
func (s Scope) Workspace() (uuid.UUID, error) {
	if s.workspace == uuid.Nil {
		return uuid.Nil, ErrNoScope
	}
	return s.workspace, nil
}

// Collections returns the collections within s. If all is true, it is every one of
// the workspace, and ids is empty.
func (s Scope) Collections() (ids []uuid.UUID, all bool) {
	if s.all {
		return nil, true
	}
	return slices.Clone(s.collections), false
}
