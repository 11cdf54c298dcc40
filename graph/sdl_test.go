package graph_test

import (
	"bytes"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/graph"
)

func TestTheSchemaIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	text := graph.SDL(schema)
	read, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: string(text)})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(graph.SDL(read), text) || len(read.Types) != len(schema.Types) {
		t.Errorf("%d types are read of %d", len(read.Types), len(schema.Types))
	}
	for _, root := range []string{"Query", "Mutation", "Subscription"} {
		if got, want := len(read.Types[root].Fields), len(schema.Types[root].Fields); got < want-2 || got > want { // without __schema and __type
			t.Errorf("%s has %d fields, want %d", root, got, want)
		}
	}
	if search := read.Types["Query"].Fields.ForName("search"); search == nil || search.Description == "" || search.Directives.ForName("surface") == nil {
		t.Errorf("search is %+v", search)
	}
}
