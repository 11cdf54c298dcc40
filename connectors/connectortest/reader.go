package connectortest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// readersAreListed checks that a [connectors.PermissionLister] returns valid
// principals for every item of a walk, and no readers for an unknown item.
func readersAreListed(t *testing.T, setup Setup) {
	source := setup.open(t)
	lister, ok := source.(connectors.PermissionLister)
	if !ok {
		return
	}
	for n := range 7 {
		setup.Fixture.Put(t, fmt.Sprintf("docs/%d.md", n), []byte("# What is shared"))
	}
	items := itemsOf(walk(t, source, ""))
	unknown := connectors.Item{ID: "never-there", Path: "never-there"}
	readers, err := lister.Readers(t.Context(), append(items, unknown))
	if err != nil {
		t.Fatalf("Readers: %v", err)
	}
	for _, item := range items {
		r, answered := readers[item.ID]
		if !answered && !setup.NoReaders {
			t.Errorf("Readers returned nothing for %q", item.Path)
		}
		for _, principal := range r.Principals {
			kind, name, found := strings.Cut(principal, ":")
			valid := found && name != ""
			switch kind {
			case "group":
			case "user":
				valid = valid && name == strings.ToLower(name) && strings.Contains(name, "@")
			case "domain":
				valid = valid && name == strings.ToLower(name) && !strings.Contains(name, "@") && strings.Contains(name, ".")
			default:
				valid = false
			}
			if !valid {
				t.Errorf("Readers(%q) has the invalid principal %q", item.Path, principal)
			}
		}
	}
	if r := readers[unknown.ID]; r.Everyone || len(r.Principals) > 0 {
		t.Errorf("Readers of an unknown item = %+v", r)
	}
	if none, err := lister.Readers(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("Readers(nil) = %v, %v", none, err)
	}
}
