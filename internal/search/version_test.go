package search

import "testing"

func TestVersionsAreOrderedByTheirNumbers(t *testing.T) {
	rising := []string{"", "main", "next", "0.9", "v1", "1.2.0-rc.1", "1.2", "v1.9", "1.10", "2.x", "2", "2.0.1", "v10", "2024-05", "2024-06", "2025", "latest"}
	for i, a := range rising {
		for j, b := range rising {
			if got := compareVersions(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%q and %q compare as %d", a, b, got)
			}
		}
	}
}
