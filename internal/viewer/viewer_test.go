package viewer_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

func TestNobodyHasAScope(t *testing.T) {
	t.Parallel()
	if _, err := viewer.ScopeOf(t.Context()); !errors.Is(err, viewer.ErrNoViewer) {
		t.Fatalf("ScopeOf = %v", err)
	}
	for _, v := range []viewer.Viewer{
		{},
		viewer.System(uuid.Nil),
		{Workspace: uuid.New()},
		{Workspace: uuid.New(), Kind: viewer.KindAnonymous, AllCollections: true},
	} {
		if _, err := v.Scope(); !errors.Is(err, viewer.ErrNoScope) {
			t.Errorf("%+v: Scope = %v", v, err)
		}
	}
	var zero viewer.Scope
	if _, err := zero.Workspace(); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("zero Workspace = %v", err)
	}
	if _, err := zero.Narrow(uuid.New()); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("zero Narrow = %v", err)
	}
	if ids, all := zero.Collections(); all || len(ids) != 0 {
		t.Errorf("zero Collections = %v, %v", ids, all)
	}
}

func TestNarrowNeverWidens(t *testing.T) {
	t.Parallel()
	mine, other := uuid.New(), uuid.New()
	s, err := viewer.Viewer{Workspace: uuid.New(), Kind: viewer.KindKey, Collections: []uuid.UUID{mine}}.Scope()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Narrow(mine, other); !errors.Is(err, viewer.ErrOutOfScope) {
		t.Errorf("Narrow(other) = %v", err)
	}
	none, err := s.Narrow()
	if err != nil {
		t.Fatal(err)
	}
	if ids, all := none.Collections(); all || len(ids) != 0 {
		t.Errorf("Narrow() contains %v, %v", ids, all)
	}
	if _, err := none.Narrow(mine); !errors.Is(err, viewer.ErrOutOfScope) {
		t.Errorf("a narrowed scope was widened: %v", err)
	}
}

func TestTheDefaultScopeOfAKeyIsOneCollection(t *testing.T) {
	t.Parallel()
	workspace, preset, other := uuid.New(), uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		viewer viewer.Viewer
		want   []uuid.UUID // nil for all
		oldest bool
		err    error
	}{
		"a session":                    {viewer.Viewer{Workspace: workspace, Kind: viewer.KindSession, AllCollections: true}, nil, false, nil},
		"a key with a default":         {viewer.Viewer{Workspace: workspace, Kind: viewer.KindKey, AllCollections: true, DefaultCollection: preset}, []uuid.UUID{preset}, false, nil},
		"a key without a default":      {viewer.Viewer{Workspace: workspace, Kind: viewer.KindKey, Collections: []uuid.UUID{other}}, []uuid.UUID{other}, true, nil},
		"a key that lacks its default": {viewer.Viewer{Workspace: workspace, Kind: viewer.KindKey, Collections: []uuid.UUID{other}, DefaultCollection: preset}, []uuid.UUID{}, false, viewer.ErrOutOfScope},
		"nobody":                       {viewer.Viewer{}, []uuid.UUID{}, false, viewer.ErrNoScope},
	} {
		scope, oldest, err := c.viewer.DefaultScope()
		ids, all := scope.Collections()
		if !errors.Is(err, c.err) || oldest != c.oldest || all != (c.want == nil) || !slices.Equal(ids, c.want) {
			t.Errorf("DefaultScope() of %s = %v (all %t), %t, %v; want %v, %t, %v", name, ids, all, oldest, err, c.want, c.oldest, c.err)
		}
	}
}

func TestRolesAreOrdered(t *testing.T) {
	t.Parallel()
	order := []viewer.Role{viewer.RoleViewer, viewer.RoleEditor, viewer.RoleAdmin, viewer.RoleOwner}
	for i, a := range order {
		for j, b := range order {
			if got := a.AtLeast(b); got != (i >= j) {
				t.Errorf("%s.AtLeast(%s) = %v", a, b, got)
			}
		}
		if viewer.Role("emperor").AtLeast(a) {
			t.Errorf("an unknown role counts as %s", a)
		}
	}
}
