package archtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// room is the folder that a package belongs to: one below internal, or one of
// the top level.
func room(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// Packages cannot import each other in a circle; nor may the folders that hold
// them, or neither of two folders can be understood without the other.
func TestRoomsImportEachOtherInOneDirection(t *testing.T) {
	t.Parallel()
	imports := map[string]map[string]string{} // room -> room -> a file that shows it
	for _, f := range files(t) {
		if f.test() {
			continue
		}
		from := room(f.pkg)
		if imports[from] == nil {
			imports[from] = map[string]string{}
		}
		for _, pkg := range f.imports() {
			if to := room(pkg); to != from {
				imports[from][to] = f.path
			}
		}
	}
	const entered, left = 1, 2
	state := map[string]int{}
	var enter func(at string, way []string)
	enter = func(at string, way []string) {
		way = append(way, at)
		state[at] = entered
		for _, to := range slices.Sorted(maps.Keys(imports[at])) {
			switch state[to] {
			case entered:
				circle := append(slices.Clone(way[slices.Index(way, to):]), to)
				t.Errorf("folders import each other in a circle: %s (%s)", strings.Join(circle, " -> "), imports[at][to])
			case left:
			default:
				enter(to, way)
			}
		}
		state[at] = left
	}
	for _, at := range slices.Sorted(maps.Keys(imports)) {
		if state[at] == 0 {
			enter(at, nil)
		}
	}
}
