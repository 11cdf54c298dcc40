package archtest_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// file is one Go file of the project.
type file struct {
	path      string // relative to the module root, with slashes
	pkg       string // the folder of path
	module    string // the module path
	text      []byte
	syntax    *ast.File
	generated bool
}

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// moduleRoot returns the folder of go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in this folder or above it")
		}
		dir = parent
	}
}

// modulePath returns the module path that go.mod declares.
func modulePath(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "module ")), nil
}

// files returns every Go file of the module.
func files(t *testing.T) []file {
	t.Helper()
	out, err := parseModule()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("found %d Go files, want the whole module", len(out))
	}
	return out
}

// parseModule parses every Go file of the module once for all tests. Folders
// with a go.mod of their own, test data and hidden folders are not part of it.
var parseModule = sync.OnceValues(func() ([]file, error) {
	top, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	module, err := modulePath(top)
	if err != nil {
		return nil, err
	}
	var out []file
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			name := entry.Name()
			if path != top && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "bin") {
				return filepath.SkipDir
			}
			if path != top {
				if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
					return filepath.SkipDir
				}
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		out = append(out, file{
			path: relative, pkg: filepath.ToSlash(filepath.Dir(relative)), module: module, text: text, syntax: syntax,
			generated: ast.IsGenerated(syntax),
		})
		return nil
	})
	return out, err
})

// imports returns the packages of the module that f imports, as folders.
func (f file) imports() []string {
	var out []string
	for _, i := range f.syntax.Imports {
		if p, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), f.module+"/"); ok {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}
