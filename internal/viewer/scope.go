package viewer

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
)

// ErrNoViewer is returned where a scope is asked of a context that names nobody.
var ErrNoViewer = errors.New("no viewer in the context")

// ErrOutOfReach is returned when a scope is narrowed to a collection that its
// viewer may not reach. Whether that collection exists is not told.
var ErrOutOfReach = errors.New("collection out of reach")

// ErrNoScope is returned by the zero Scope.
var ErrNoScope = errors.New("the zero scope reaches nothing")

// Scope is the reach of plain SQL: one workspace, and all or some of its
// collections. Only this package makes one, and its zero value is an error to
// use, so that a forgotten scope fails and never widens.
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

// Scope returns everything that v may reach. Viewers without a workspace have none.
func (v Viewer) Scope() (Scope, error) {
	if v.Workspace == uuid.Nil || v.Kind == KindAnonymous || v.Kind == "" {
		return Scope{}, ErrNoScope
	}
	return Scope{workspace: v.Workspace, all: v.AllCollections, collections: slices.Clone(v.Collections)}, nil
}

// Narrow returns the scope of just the given collections; ErrOutOfReach when
// one of them is not within s. Narrowing to none at all reaches none.
// For a scope over all collections the ids are not looked up: an id of another
// workspace then matches no row, because the workspace stays part of the scope.
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

// Workspace returns the workspace of s; ErrNoScope for the zero value.
func (s Scope) Workspace() (uuid.UUID, error) {
	if s.workspace == uuid.Nil {
		return uuid.Nil, ErrNoScope
	}
	return s.workspace, nil
}

// Collections returns the reachable collections; all means every one of the
// workspace, and then ids is empty.
func (s Scope) Collections() (ids []uuid.UUID, all bool) {
	if s.all {
		return nil, true
	}
	return slices.Clone(s.collections), false
}
