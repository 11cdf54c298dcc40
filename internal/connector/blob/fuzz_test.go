package blob_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

// FuzzDirKeys checks that no key leads out of the store's folder.
func FuzzDirKeys(f *testing.F) {
	for _, seed := range []string{"a/b", "../a", "/etc/passwd", "a/../../b", "unfinished~/x", "a\x00b", "..", "a//b", "A"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		outside := t.TempDir()
		store, err := blob.NewDir(filepath.Join(outside, "store"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		accepted := store.Put(t.Context(), key, strings.NewReader("x"), 1) == nil
		files := 0
		err = filepath.WalkDir(filepath.Join(outside, "store"), func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if accepted != (files == 1) {
			t.Errorf("key %q accepted %v, %d files in the store", key, accepted, files)
		}
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Errorf("key %q: beside the store: %v, %v", key, entries, err)
		}
	})
}
