package graph_test

import (
	"bytes"
	"regexp"
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

// Generated fields and those written by hand name ids one way, connectorId, and a setting has one type wherever it is. An
// argument that refers to something says so in its name.
func TestNamesAreWrittenOneWay(t *testing.T) {
	t.Parallel()
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	other, reference := regexp.MustCompile(`[a-z]IDs?$`), regexp.MustCompile(`^ids?$|Ids?$`)
	strategies := 0
	for _, kind := range schema.Types {
		for _, f := range kind.Fields {
			if other.MatchString(f.Name) {
				t.Errorf("%s.%s ends in ID, not Id", kind.Name, f.Name)
			}
			for _, argument := range f.Arguments {
				if other.MatchString(argument.Name) {
					t.Errorf("the argument %s of %s.%s ends in ID, not Id", argument.Name, kind.Name, f.Name)
				}
				// The job after which a subscription goes on is a place.
				if argument.Type.Name() == "ID" && !reference.MatchString(argument.Name) && f.Name+"."+argument.Name != "connectorSync.after" {
					t.Errorf("the argument %s of %s.%s is an ID and does not end in Id", argument.Name, kind.Name, f.Name)
				}
			}
			if f.Name == "syncStrategy" {
				strategies++
				if f.Type.Name() != "ConnectorSyncStrategy" {
					t.Errorf("%s.syncStrategy is of type %s", kind.Name, f.Type.Name())
				}
			}
		}
	}
	if strategies != 3 { // Connector, DocSync, DocSyncInput
		t.Errorf("%d fields are named syncStrategy", strategies)
	}
}
