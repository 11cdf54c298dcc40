package archtest_test

import (
	"bytes"
	"go/ast"
	"path"
	"strings"
	"testing"
)

// maxLines is the maximum length of a hand-written file.
const maxLines = 600

func TestNoHandWrittenFileIsTooLong(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if n := bytes.Count(f.text, []byte{'\n'}); !f.generated && n > maxLines {
			t.Errorf("%s has %d lines, want at most %d", f.path, n, maxLines)
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	documented, seen := map[string]bool{}, map[string]bool{}
	for _, f := range files(t) {
		if f.test() || f.generated {
			continue
		}
		seen[f.pkg] = true
		if f.syntax.Doc != nil && len(f.syntax.Doc.Text()) > 40 {
			documented[f.pkg] = true
		}
	}
	for pkg := range seen {
		if !documented[pkg] && pkg != "ent" {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

func TestNoPackageNameIsVague(t *testing.T) {
	t.Parallel()
	vague := map[string]bool{"common": true, "util": true, "utils": true, "types": true, "service": true, "services": true, "manager": true, "helper": true, "helpers": true, "misc": true}
	for _, f := range files(t) {
		if vague[path.Base(f.pkg)] {
			t.Errorf("%s: the package name is vague", f.path)
		}
	}
}

func TestNoPackageHasAnInitFunction(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.generated {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function; wiring belongs in cmd", f.path)
			}
		}
	}
}

// calls reports whether f calls pkg.name.
func (f file) calls(pkg, name string) bool {
	found := false
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg && s.Sel.Name == name && x.Obj == nil {
				found = true
			}
		}
		return !found
	})
	return found
}

func TestOnlyConfigReadsTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.test() || strings.HasPrefix(f.pkg, "internal/config") || strings.HasPrefix(f.pkg, "internal/testkit") || strings.HasPrefix(f.pkg, "internal/tools") {
			continue
		}
		if f.calls("os", "Getenv") || f.calls("os", "LookupEnv") {
			t.Errorf("%s reads the environment; settings come from internal/config", f.path)
		}
	}
}

func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if !f.test() {
			continue
		}
		for _, name := range []string{"Sleep", "After", "Tick"} {
			if f.calls("time", name) {
				t.Errorf("%s calls time.%s; wait for the condition with internal/testkit, or use testing/synctest", f.path, name)
			}
		}
	}
}
