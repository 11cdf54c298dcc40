package viewer

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
)

// ErrNoViewer is returned for the scope of a context without a viewer.
var ErrNoViewer = errors.New("no viewer in the context")

// ErrOutOfReach is returned when a scope is narrowed to a collection that its
// viewer may not reach. It does not reveal whether the collection exists.
var ErrOutOfReach = errors.New("collection out of reach")

// ErrNoScope is returned by the zero Scope.
var ErrNoScope = errors.New("the zero scope reaches nothing")

// A Scope is what plain SQL may reach: one workspace, and all or some of its
// collections. Only this package makes a Scope. The zero value returns errors, so
// that a forgotten scope fails and never widens.
type Scope struct {
	workspace   uuid.UUID
	collections []uuid.UUID
	all         bool
}

// ScopeOf returns everything that the viewer in ctx may reach.
func ScopeOf(ctx context.Context) (Scope, error) {
	v, ok := From(ctx)
	if !ok {
		return Scope{}, ErrNoViewer
	}
	return v.Scope()
}

// Scope returns everything that v may reach. A viewer without a workspace has no
// scope.
func (v Viewer) Scope() (Scope, error) {
	if v.Workspace == uuid.Nil || v.Kind == KindAnonymous || v.Kind == "" {
		return Scope{}, ErrNoScope
	}
	return Scope{workspace: v.Workspace, all: v.AllCollections, collections: slices.Clone(v.Collections)}, nil
}

// Narrow returns a scope of only the given collections, which may be none. It
// returns ErrOutOfReach if one of them is not within s. A scope over all
// collections does not check the ids: an id of another workspace matches no row,
// because the workspace is part of the scope.
func (s Scope) Narrow(collections ...uuid.UUID) (Scope, error) {
	if s.workspace == uuid.Nil {
		return Scope{}, ErrNoScope
	}
	if !s.all {
		for _, id := range collections {
			if !slices.Contains(s.collections, id) {
				return Scope{}, ErrOutOfReach
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
