package blob_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/blob/blobtest"
)

func openDir(t *testing.T, folder string) *blob.Dir {
	t.Helper()
	store, err := blob.NewDir(folder)
	if err != nil {
		t.Fatalf("new dir: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestDirIsAStore(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) blob.Store { return openDir(t, t.TempDir()) })
}

func TestDirDoesNotFollowLinksOutOfItsFolder(t *testing.T) {
	t.Parallel()
	outside, inside := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret~"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(inside, "link")); err != nil {
		t.Fatal(err)
	}
	store := openDir(t, inside)
	if reader, err := store.Open(t.Context(), "link/secret"); err == nil {
		content, _ := io.ReadAll(reader)
		_ = reader.Close()
		t.Errorf("read %q from outside", content)
	}
	if err := store.Put(t.Context(), "link/new", strings.NewReader("x"), 1); err == nil {
		t.Error("wrote to a folder outside")
	}
	if err := store.Delete(t.Context(), "link/secret"); err == nil {
		t.Error("deleted a file outside")
	}
	if _, err := os.Stat(filepath.Join(outside, "secret~")); err != nil {
		t.Errorf("the file outside: %v", err)
	}
}

func TestDirDeletesAbandonedFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	temp := filepath.Join(folder, "unfinished~")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "young": time.Hour} {
		file := filepath.Join(temp, name)
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	openDir(t, folder)
	entries, err := os.ReadDir(temp)
	if err != nil || len(entries) != 1 || entries[0].Name() != "young" {
		t.Errorf("left in the folder: %v, %v; want only the young file", entries, err)
	}
}

func TestDirKeepsContentAcrossProcesses(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "made", "on", "demand")
	first := openDir(t, folder)
	if err := first.Put(t.Context(), "a/b", strings.NewReader("kept"), 4); err != nil {
		t.Fatal(err)
	}
	reader, err := openDir(t, folder).Open(t.Context(), "a/b")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }()
	if content, err := io.ReadAll(reader); err != nil || string(content) != "kept" {
		t.Errorf("got %q, %v", content, err)
	}
}
