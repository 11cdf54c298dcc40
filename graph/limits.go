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

// graphqlError is gqlgen's error; the name keeps signatures short.
type graphqlError = gqlerror.Error

// unlimited is a complexity that no operation has.
const unlimited = math.MaxInt

func isStored(ctx context.Context) bool { return storedop.Is(ctx) }

// page is how many rows a connection asks for at most.
func page(first, last *int) int {
	switch {
	case first != nil:
		return min(max(*first, 1), maxPage)
	case last != nil:
		return min(max(*last, 1), maxPage)
	default:
		return defaultPage
	}
}

// times multiplies without overflow.
func times(n, each int) int {
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
	if isStored(ctx) || !deeper(rc.Operation.SelectionSet, d.max) {
		return nil
	}
	err := gqlerror.Errorf("the operation is nested more than %d levels deep; ask for less at once", d.max)
	err.Extensions = map[string]any{"code": string(apierr.InvalidRequest)}
	return err
}

// deeper reports whether a selection goes below depth levels. The schema's own
// description is recursive by nature and has a bound of its own.
func deeper(set ast.SelectionSet, depth int) bool {
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
			if deeper(s.SelectionSet, below) {
				return true
			}
		case *ast.InlineFragment:
			if deeper(s.SelectionSet, depth) {
				return true
			}
		case *ast.FragmentSpread:
			if s.Definition != nil && deeper(s.Definition.SelectionSet, depth) {
				return true
			}
		}
	}
	return false
}

// maxSchemaDepth suffices for the introspection queries of the usual clients.
const maxSchemaDepth = 20

// pageLimit refuses connections inside other rows that name no page: the pages
// of root fields have a default size, those below would be read whole.
type pageLimit struct{}

var _ graphql.OperationContextMutator = pageLimit{}

func (pageLimit) ExtensionName() string                   { return "PageLimit" }
func (pageLimit) Validate(graphql.ExecutableSchema) error { return nil }

func (pageLimit) MutateOperationContext(_ context.Context, rc *graphql.OperationContext) *graphqlError {
	name := unpaged(rc.Operation.SelectionSet, rc.Variables, true)
	if name == "" {
		return nil
	}
	err := gqlerror.Errorf("%s: give first or last, between 1 and %d", name, maxPage)
	err.Extensions = map[string]any{"code": string(apierr.InvalidRequest)}
	return err
}

// unpaged names a connection below the root without a page, or one whose page
// is out of range.
func unpaged(set ast.SelectionSet, variables map[string]any, root bool) string {
	for _, s := range set {
		name := ""
		switch s := s.(type) {
		case *ast.Field:
			if s.Definition != nil && s.Definition.Arguments.ForName("first") != nil && !root && !paged(s.ArgumentMap(variables)) {
				return s.Name
			}
			name = unpaged(s.SelectionSet, variables, false)
		case *ast.InlineFragment:
			name = unpaged(s.SelectionSet, variables, root)
		case *ast.FragmentSpread:
			if s.Definition != nil {
				name = unpaged(s.Definition.SelectionSet, variables, root)
			}
		}
		if name != "" {
			return name
		}
	}
	return ""
}

func paged(arguments map[string]any) bool {
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
