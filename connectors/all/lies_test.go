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

// TestEveryKindIsLiedTo looks at the tests of each kind in the list: they run the
// suite of lies, or the kind is named here with the reason why not.
func TestEveryKindIsLiedTo(t *testing.T) {
	t.Parallel()
	exempt := map[string]string{
		"fileupload": "its files come from Magpie itself; nothing answers from outside",
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
		if runs, reason := runsLies(t, filepath.Join("..", kind)), exempt[kind]; runs == (reason != "") {
			t.Errorf("connectors/%s runs connectortest.RunLies or RunWireLies: %v; the reason why not: %q", kind, runs, reason)
		}
		delete(exempt, kind)
	}
	if want := len(registry.Kinds()); kinds != want {
		t.Errorf("%d packages of kinds are imported, and there are %d kinds", kinds, want)
	}
	for kind := range exempt {
		t.Errorf("connectors/%s is named with a reason, and there is no such kind", kind)
	}
}

// runsLies says whether a test in a folder calls the suite.
func runsLies(t *testing.T, folder string) bool {
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
					runs = runs || isPackage && from.Name == "connectortest" && (f.Sel.Name == "RunLies" || f.Sel.Name == "RunWireLies")
				}
				return true
			})
		}
	}
	return runs
}
