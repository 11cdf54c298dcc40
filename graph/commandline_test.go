package graph_test

import (
	"testing"

	"github.com/99designs/gqlgen/complexity"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/client"
)

// The commands send these operations over HTTP, where the limit of complexity applies.
func TestOperationsOfTheCommandLineAreBelowTheLimitOfComplexity(t *testing.T) {
	t.Parallel()
	document, err := client.Operations()
	if err != nil {
		t.Fatal(err)
	}
	schema := graph.NewSchema(&graph.Resolver{})
	parsed, errs := gqlparser.LoadQueryWithRules(schema.Schema(), document, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	if len(parsed.Operations) < 70 {
		t.Errorf("only %d operations", len(parsed.Operations))
	}
	for _, operation := range parsed.Operations {
		if got := complexity.Calculate(t.Context(), schema, operation, map[string]any{"first": 100, "limit": 100}); got > 5000 {
			t.Errorf("%s has the complexity %d", operation.Name, got)
		}
	}
}
