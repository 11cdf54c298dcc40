package dashboard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// schemaOfMagpie returns the schema of /graphql.
func schemaOfMagpie(t *testing.T) *ast.Schema {
	t.Helper()
	const root = "../../../../"
	names, err := filepath.Glob(root + "graph/schema/*.graphql")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	var parts []*ast.Source
	for _, name := range append(names, root+"schema.graphql", root+"ent/ent.graphql") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, &ast.Source{Name: name, Input: string(text)})
	}
	schema, err := gqlparser.LoadSchema(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// operationsOfTheSite returns the operations of all pages, which the build collects.
func operationsOfTheSite(t *testing.T) *ast.QueryDocument {
	t.Helper()
	text, err := os.ReadFile("dist/operations.graphql")
	if err != nil {
		t.Fatal(err)
	}
	document, err := parser.ParseQuery(&ast.Source{Name: "operations.graphql", Input: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// A field that is renamed must not be found missing by a person in the browser.
func TestTheSchemaHasWhatTheSiteAsksFor(t *testing.T) {
	t.Parallel()
	document := operationsOfTheSite(t)
	if document.Operations.ForName("Me") == nil {
		t.Error("the site does not ask who is signed in")
	}
	for _, problem := range validator.ValidateWithRules(schemaOfMagpie(t), document, rules.NewDefaultRules()) {
		t.Error(problem)
	}
}
