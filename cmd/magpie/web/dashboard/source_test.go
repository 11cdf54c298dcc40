package dashboard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// sources returns the paths of the files that the site is built from, in byte order:
// all but what is hidden, written in Go, installed, generated or built.
func sources(t *testing.T, folder fs.FS) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case slices.Contains([]string{"node_modules", "dist", "testdata", "src/gql"}, name), entry.IsDir() && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || strings.HasSuffix(name, ".go") || strings.HasSuffix(name, ".gql.ts"):
			return nil
		}
		out = append(out, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// The script that builds the site computes the same (scripts/finish.mjs).
func TestTheSiteIsBuiltFromItsSources(t *testing.T) {
	t.Parallel()
	folder := os.DirFS(".")
	hash := func(content []byte) string {
		sum := sha256.Sum256(content)
		return hex.EncodeToString(sum[:])
	}
	var list strings.Builder
	names := sources(t, folder)
	for _, name := range names {
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "%s\n%s\n", name, hash(content))
	}
	if !slices.Contains(names, "index.html") || !slices.Contains(names, "package.json") || !slices.Contains(names, "src/main.tsx") {
		t.Fatalf("the sources are %q", names)
	}
	built, err := fs.ReadFile(folder, "dist/.source")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hash([]byte(list.String())), strings.TrimSpace(string(built)); got != want {
		t.Errorf("the sources of the dashboard have the hash %s, and dist was built from %s; run make dashboard, and commit dist", got, want)
	}
}
