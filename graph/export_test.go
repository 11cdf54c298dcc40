package graph

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/magpie-search/magpie/graph/generated"
	"github.com/magpie-search/magpie/graph/model"
)

// NewUnguardedSchema returns the schema without the checks of @role, so that only the
// domain packages refuse calls.
func NewUnguardedSchema(r *Resolver) graphql.ExecutableSchema {
	c := generated.Config{Resolvers: r}
	c.Directives.Surface = surfaceDirective
	c.Directives.Role = func(ctx context.Context, _ any, next graphql.Resolver, _ model.Role) (any, error) { return next(ctx) }
	return generated.NewExecutableSchema(c)
}

// EncodesResultField reports whether resultEncoding encodes a field of results.
func EncodesResultField(name string) bool { return fieldEncoder(name) != nil }

// ParseDocument parses and validates a document with the limits of a person or of an
// anonymous caller. It fails the test if a parsed document exceeds them.
func ParseDocument(t *testing.T, schema *ast.Schema, text string, anonymous bool) {
	t.Helper()
	limits := authenticatedLimits()
	if anonymous {
		limits = anonymousLimits()
	}
	document, size, err := limits.parse(text)
	_, parserErr := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, limits.tokens)
	if err != nil {
		var own *gqlerror.Error
		if parserErr == nil && (!errors.As(err, &own) || own.Extensions["code"] == nil) {
			t.Fatalf("%q: %v, but the parser accepts it", text, err)
		}
		return
	}
	if parserErr != nil {
		t.Fatalf("%q is accepted, but the parser returns %v", text, parserErr)
	}
	if limits.check(size) != nil || size.nesting > limits.nesting {
		t.Fatalf("%q: %+v exceeds the limits", text, size)
	}
	if _, err := validate(t.Context(), schema, document, validationRules(), maxValidationErrors); err != nil {
		t.Fatal(err)
	}
}

// Conflicts reports whether checkOverlap and the library's rule find a conflict in a
// document, and whether checkOverlap finds conflicting types.
func Conflicts(t *testing.T, schema *ast.Schema, text string) (ours, library, types bool) {
	t.Helper()
	check := func(rule validator.Rule) gqlerror.List {
		document, _, err := authenticatedLimits().parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		found, err := validate(t.Context(), schema, document, []validator.Rule{rule}, maxValidationErrors)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(check(rules.NoUnusedFragmentsRule)) > 0 {
		return false, false, false // only the library checks those
	}
	own := check(validator.Rule{Name: overlapRule, RuleFunc: checkOverlap})
	reference := check(rules.OverlappingFieldsCanBeMergedRule)
	return len(own) > 0, len(reference) > 0, len(own) > 0 && strings.Contains(own[0].Message, "conflicting types")
}
