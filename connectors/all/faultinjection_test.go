package all_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors/all"
)

// TestEveryKindRunsFaultInjection checks that the tests of each kind call the
// fault injection suite, or that the kind is exempt for a reason.
func TestEveryKindRunsFaultInjection(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"fileupload": "its files come from Magpie itself",
	}
	registry, err := all.Registry(all.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := parser.ParseFile(token.NewFileSet(), "all.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for _, i := range list.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if path.Dir(imported) != "github.com/magpie-search/magpie/connectors" {
			continue
		}
		kinds++
		kind := path.Base(imported)
		if runs, reason := runsFaultInjection(t, filepath.Join("..", kind)), exempt[kind]; runs == (reason != "") {
			t.Errorf("connectors/%s calls RunFaultInjection or RunWireFaultInjection: %v; exempt because %q", kind, runs, reason)
		}
		delete(exempt, kind)
	}
	if want := len(registry.Kinds()); kinds != want {
		t.Errorf("%d packages of kinds are imported, but there are %d kinds", kinds, want)
	}
	for kind := range exempt {
		t.Errorf("connectors/%s is exempt, but there is no such kind", kind)
	}
}

// runsFaultInjection reports whether a test in a folder calls the suite.
func runsFaultInjection(t *testing.T, folder string) bool {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	runs := false
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			test, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(test.Name.Name, "Test") {
				continue
			}
			ast.Inspect(test, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if f, ok := call.Fun.(*ast.SelectorExpr); ok {
					from, isPackage := f.X.(*ast.Ident)
					runs = runs || isPackage && from.Name == "connectortest" && (f.Sel.Name == "RunFaultInjection" || f.Sel.Name == "RunWireFaultInjection")
				}
				return true
			})
		}
	}
	return runs
}
