package connectortest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// readersAreTold checks that a source which knows who may see what answers for
// every item that its walk names, in proper principals, and shows nothing to
// anybody that it does not know.
func readersAreTold(t *testing.T, setup Setup) {
	source := setup.open(t)
	lister, ok := source.(connectors.PermissionLister)
	if !ok {
		return // an optional ability
	}
	for n := range 7 {
		setup.Fixture.Put(t, fmt.Sprintf("docs/%d.md", n), []byte("# What is shared"))
	}
	items := itemsOf(walk(t, source, ""))
	unknown := connectors.Item{ID: "never-there", Path: "never-there"}
	readers, err := lister.Readers(t.Context(), append(items, unknown))
	if err != nil {
		t.Fatalf("readers: %v", err)
	}
	for _, item := range items {
		r, answered := readers[item.ID]
		if !answered && !setup.Unshared {
			t.Errorf("nothing is said of who may see %q", item.Path)
		}
		for _, principal := range r.Principals {
			kind, name, found := strings.Cut(principal, ":")
			if !found || name == "" || kind != "user" && kind != "group" || kind == "user" && (name != strings.ToLower(name) || !strings.Contains(name, "@")) {
				t.Errorf("%q may be seen by %q, which is no principal", item.Path, principal)
			}
		}
	}
	if r := readers[unknown.ID]; r.Everyone || len(r.Principals) > 0 {
		t.Errorf("an item that is not there may be seen by %+v", r)
	}
	if none, err := lister.Readers(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("readers of nothing: %v, %v", none, err)
	}
}
