package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file is one Go file of the project.
type file struct {
	path      string // from the root, with slashes
	pkg       string // its folder
	module    string // the path of the module
	text      []byte
	syntax    *ast.File
	generated bool
}

func (f file) test() bool { return strings.HasSuffix(f.path, "_test.go") }

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above this folder")
		}
		dir = parent
	}
}

// modulePath is what imports of the module's packages begin with.
func modulePath(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "module "))
}

// files reads every Go file of the module. Folders with a go.mod of their own,
// test data and hidden folders are not part of it.
func files(t *testing.T) []file {
	t.Helper()
	top := root(t)
	module := modulePath(t, top)
	var out []file
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
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
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 100 {
		t.Fatalf("only %d Go files were found: the walk looks at the wrong folder", len(out))
	}
	return out
}

// imports are the packages of this module that f imports, as folders.
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
