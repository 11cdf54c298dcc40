package archtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// topFolder returns the folder of the first level that holds a package, or of
// the first level below internal.
func topFolder(pkg string) string {
	parts := strings.SplitN(pkg, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// The compiler forbids import cycles between packages. A cycle between folders
// is forbidden here, because no folder of a cycle can be understood alone.
func TestFoldersHaveNoImportCycle(t *testing.T) {
	t.Parallel()
	imports := map[string]map[string]string{} // importing folder, imported folder, a file that does
	for _, f := range files(t) {
		if f.test() {
			continue
		}
		from := topFolder(f.pkg)
		if imports[from] == nil {
			imports[from] = map[string]string{}
		}
		for _, pkg := range f.imports() {
			if to := topFolder(pkg); to != from {
				imports[from][to] = f.path
			}
		}
	}
	const active, done = 1, 2
	state := map[string]int{}
	var visit func(folder string, path []string)
	visit = func(folder string, path []string) {
		path = append(path, folder)
		state[folder] = active
		for _, to := range slices.Sorted(maps.Keys(imports[folder])) {
			switch state[to] {
			case active:
				cycle := append(slices.Clone(path[slices.Index(path, to):]), to)
				t.Errorf("import cycle of folders: %s (%s)", strings.Join(cycle, " -> "), imports[folder][to])
			case done:
			default:
				visit(to, path)
			}
		}
		state[folder] = done
	}
	for _, folder := range slices.Sorted(maps.Keys(imports)) {
		if state[folder] == 0 {
			visit(folder, nil)
		}
	}
}
