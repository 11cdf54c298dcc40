package graph

import (
	"context"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// maxMistakes is how many mistakes of one document are told.
const maxMistakes = 50

// validationRules are those of the specification, in the order of their names.
func validationRules() []validator.Rule {
	list := []validator.Rule{{Name: overlapRule, RuleFunc: fieldsMerge}}
	for name, rule := range rules.NewDefaultRules().GetInner() {
		if name != overlapRule {
			list = append(list, validator.Rule{Name: name, RuleFunc: rule})
		}
	}
	slices.SortFunc(list, func(a, b validator.Rule) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// enough ends a validation from inside: the library's walk knows no other end.
type enough struct{}

// validate checks a document that keeps to its bounds against the schema. It
// ends with ctx, and after most mistakes, each of which may cost the search for
// a similar name.
func validate(ctx context.Context, schema *ast.Schema, document *ast.QueryDocument, list []validator.Rule, most int) (wrong gqlerror.List, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case enough:
			err = ctx.Err()
		default:
			panic(cause)
		}
	}()
	observers := &validator.Events{}
	steps := 0
	step := func() {
		const between = 128
		if steps++; steps%between == 0 && ctx.Err() != nil {
			panic(enough{})
		}
	}
	observers.OnField(func(*validator.Walker, *ast.Field) { step() })
	observers.OnFragmentSpread(func(*validator.Walker, *ast.FragmentSpread) { step() })
	observers.OnValue(func(*validator.Walker, *ast.Value) { step() })
	for _, rule := range list {
		rule.RuleFunc(observers, func(options ...validator.ErrorOption) {
			mistake := &gqlerror.Error{Rule: rule.Name}
			for _, option := range options {
				option(mistake)
			}
			if wrong = append(wrong, mistake); len(wrong) >= most {
				panic(enough{})
			}
		})
	}
	validator.Walk(schema, document, observers)
	return wrong, ctx.Err()
}
