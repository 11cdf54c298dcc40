package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/testdata/demo"
)

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheFolderOfTheDemoIsMadeEqualToTheDocuments(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "demo")
	if err := demo.Unpack(folder); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(folder, "en"))
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d documents, %v", len(entries), err)
	}
	old := filepath.Join(folder, "en", "of-an-older-version.md")
	write(t, old, "# Old")
	if err := demo.Unpack(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("a document of an older version: %v", err)
	}
}

func TestFilesOfAPersonStayInAFolderOfTheNameOfTheDemo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"thesis.md", "en/notes.md", ".hidden"} {
		folder := filepath.Join(t.TempDir(), "demo")
		mine := filepath.Join(folder, name)
		write(t, mine, "Three years of work.")
		for range 2 { // the first does not mark it
			if err := demo.Unpack(folder); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), folder) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if content, err := os.ReadFile(mine); err != nil || string(content) != "Three years of work." {
			t.Errorf("%s: %q, %v", name, content, err)
		}
		if _, err := os.Stat(demo.Mark(folder)); !os.IsNotExist(err) {
			t.Errorf("%s: the mark: %v", name, err)
		}
	}
}
