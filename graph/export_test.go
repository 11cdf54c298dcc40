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

// NewUnguardedSchema is the schema without the fence of @role: what is behind
// it has to refuse by itself.
func NewUnguardedSchema(r *Resolver) graphql.ExecutableSchema {
	c := generated.Config{Resolvers: r}
	c.Directives.Surface = surfaceDirective
	c.Directives.Role = func(ctx context.Context, _ any, next graphql.Resolver, _ model.Role) (any, error) { return next(ctx) }
	return generated.NewExecutableSchema(c)
}

// WritesResultField tells whether results are written with a field by
// themselves, and not by the executor.
func WritesResultField(name string) bool { return writerOf(name) != nil }

// TakeIn reads and validates a document as that of a person or a stranger. It
// fails the test when what was read is beyond the bounds that let it pass.
func TakeIn(t *testing.T, schema *ast.Schema, text string, stranger bool) {
	t.Helper()
	limit := boundsOfPeople()
	if stranger {
		limit = boundsOfStrangers()
	}
	document, m, err := limit.read(text)
	_, wrong := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, limit.tokens)
	if err != nil {
		var own *gqlerror.Error
		if wrong == nil && (!errors.As(err, &own) || own.Extensions["code"] == nil) {
			t.Fatalf("%q: %v, which the parser does not say", text, err)
		}
		return
	}
	if wrong != nil {
		t.Fatalf("%q passes, but not the parser: %v", text, wrong)
	}
	if limit.check(m) != nil || m.nesting > limit.nesting {
		t.Fatalf("%q: %+v", text, m)
	}
	if _, err := validate(t.Context(), schema, document, validationRules(), maxMistakes); err != nil {
		t.Fatal(err)
	}
}

// Conflicts says whether the fields of a document cannot be merged by the rule
// here and by the library's, and whether the one here says it of their types.
func Conflicts(t *testing.T, schema *ast.Schema, text string) (ours, theirs, shape bool) {
	t.Helper()
	one := func(rule validator.Rule) gqlerror.List {
		document, _, err := boundsOfPeople().read(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		wrong, err := validate(t.Context(), schema, document, []validator.Rule{rule}, maxMistakes)
		if err != nil {
			t.Fatal(err)
		}
		return wrong
	}
	if len(one(rules.NoUnusedFragmentsRule)) > 0 {
		return false, false, false // only the library looks into those
	}
	mine := one(validator.Rule{Name: overlapRule, RuleFunc: fieldsMerge})
	library := one(rules.OverlappingFieldsCanBeMergedRule)
	return len(mine) > 0, len(library) > 0, len(mine) > 0 && strings.Contains(mine[0].Message, "conflicting types")
}
