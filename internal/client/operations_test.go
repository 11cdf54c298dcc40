package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/devstack"
)

func TestOperationsFitTheSchema(t *testing.T) {
	t.Parallel()
	root, err := devstack.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var sources []*ast.Source
	for _, pattern := range []string{"schema.graphql", "ent/ent.graphql", "graph/schema/*.graphql"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, &ast.Source{Name: file, Input: string(content)})
		}
	}
	schema, err := gqlparser.LoadSchema(sources...)
	if err != nil {
		t.Fatal(err)
	}
	document, err := client.Operations()
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := gqlparser.LoadQueryWithRules(schema, document, rules.NewDefaultRules()); errs != nil {
		t.Error(errs)
	}
}
