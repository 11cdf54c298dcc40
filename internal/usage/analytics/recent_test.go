package analytics_test

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestRecentScopesAreTheLastOnesSearched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.store(analytics.Full)
	if scopes, err := s.RecentScopes(t.Context()); err != nil || len(scopes) != 0 {
		t.Errorf("RecentScopes() of an empty log = %v, %v", scopes, err)
	}
	a, b := f.tenant(), f.tenant()
	other := gid.New(gid.Collection)
	f.addCollection(a, other)
	in := func(collection uuid.UUID) func(*analytics.Query) {
		return func(q *analytics.Query) { q.Collection = collection }
	}
	f.write(analytics.Full, a.search("1", "x", daysAgo(3)), a.search("2", "x", daysAgo(2), in(other)), b.search("3", "x", daysAgo(1), in(uuid.Nil)), a.search("4", "y"))
	narrow := func(id tenant, collection uuid.UUID) viewer.Scope {
		t.Helper()
		scope, err := id.scope.Narrow(collection)
		if err != nil {
			t.Fatal(err)
		}
		return scope
	}
	want := []viewer.Scope{narrow(a, a.collection), b.scope, narrow(a, other)}
	if got, err := s.RecentScopes(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("RecentScopes() = %v, %v; want %v", got, err, want)
	}
}
