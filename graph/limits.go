package graph

import (
	"context"
	"encoding/json"
	"math"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/storedop"
)

// graphqlError is the error type of gqlgen.
type graphqlError = gqlerror.Error

// unlimited is a complexity limit that no operation exceeds.
const unlimited = math.MaxInt

func isStored(ctx context.Context) bool { return storedop.Is(ctx) }

// pageSize returns the largest number of rows that a connection may return.
func pageSize(first, last *int) int {
	switch {
	case first != nil:
		return min(max(*first, 1), maxPage)
	case last != nil:
		return min(max(*last, 1), maxPage)
	default:
		return defaultPage
	}
}

// multiplySaturating returns n*each, or unlimited if that overflows.
func multiplySaturating(n, each int) int {
	if each > 0 && n > unlimited/each {
		return unlimited
	}
	return n * each
}

// depthLimit refuses operations whose selections are nested too deeply.
type depthLimit struct{ max int }

var _ graphql.OperationContextMutator = depthLimit{}

func (depthLimit) ExtensionName() string                   { return "DepthLimit" }
func (depthLimit) Validate(graphql.ExecutableSchema) error { return nil }

func (d depthLimit) MutateOperationContext(ctx context.Context, rc *graphql.OperationContext) *graphqlError {
	if isStored(ctx) || !exceedsDepth(rc.Operation.SelectionSet, d.max) {
		return nil
	}
	err := gqlerror.Errorf("the operation is nested more than %d levels deep; ask for less at once", d.max)
	err.Extensions = map[string]any{"code": string(apierr.InvalidRequest)}
	return err
}

// exceedsDepth reports whether a selection has more than depth levels. Below an
// introspection field, maxSchemaDepth applies.
func exceedsDepth(set ast.SelectionSet, depth int) bool {
	if len(set) == 0 {
		return false
	}
	if depth <= 0 {
		return true
	}
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			below := depth - 1
			if s.Name == "__schema" || s.Name == "__type" {
				below = maxSchemaDepth
			}
			if exceedsDepth(s.SelectionSet, below) {
				return true
			}
		case *ast.InlineFragment:
			if exceedsDepth(s.SelectionSet, depth) {
				return true
			}
		case *ast.FragmentSpread:
			if s.Definition != nil && exceedsDepth(s.Definition.SelectionSet, depth) {
				return true
			}
		}
	}
	return false
}

// maxSchemaDepth is enough for the introspection queries of common clients.
const maxSchemaDepth = 20

// pageLimit refuses connections inside other rows without a page. Connections at the
// root have a default page; nested ones would be read whole.
type pageLimit struct{}

var _ graphql.OperationContextMutator = pageLimit{}

func (pageLimit) ExtensionName() string                   { return "PageLimit" }
func (pageLimit) Validate(graphql.ExecutableSchema) error { return nil }

func (pageLimit) MutateOperationContext(_ context.Context, rc *graphql.OperationContext) *graphqlError {
	name := findUnpaged(rc.Operation.SelectionSet, rc.Variables, true)
	if name == "" {
		return nil
	}
	err := gqlerror.Errorf("%s: give first or last, between 1 and %d", name, maxPage)
	err.Extensions = map[string]any{"code": string(apierr.InvalidRequest)}
	return err
}

// findUnpaged returns the name of a nested connection whose page is missing or out of
// range, or an empty string if there is none.
func findUnpaged(set ast.SelectionSet, variables map[string]any, root bool) string {
	for _, s := range set {
		name := ""
		switch s := s.(type) {
		case *ast.Field:
			if s.Definition != nil && s.Definition.Arguments.ForName("first") != nil && !root && !hasPage(s.ArgumentMap(variables)) {
				return s.Name
			}
			name = findUnpaged(s.SelectionSet, variables, false)
		case *ast.InlineFragment:
			name = findUnpaged(s.SelectionSet, variables, root)
		case *ast.FragmentSpread:
			if s.Definition != nil {
				name = findUnpaged(s.Definition.SelectionSet, variables, root)
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

func hasPage(arguments map[string]any) bool {
	for _, name := range []string{"first", "last"} {
		switch n := arguments[name].(type) {
		case int64:
			return n >= 1 && n <= maxPage
		case int:
			return n >= 1 && n <= maxPage
		case json.Number:
			i, err := n.Int64()
			return err == nil && i >= 1 && i <= maxPage
		}
	}
	return false
}
