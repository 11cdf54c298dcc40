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

// maxValidationErrors is the largest number of errors that are reported of a document.
const maxValidationErrors = 50

// validationRules returns the rules of the specification, sorted by name.
func validationRules() []validator.Rule {
	list := []validator.Rule{{Name: overlapRule, RuleFunc: checkOverlap}}
	for name, rule := range rules.NewDefaultRules().GetInner() {
		if name != overlapRule {
			list = append(list, validator.Rule{Name: name, RuleFunc: rule})
		}
	}
	slices.SortFunc(list, func(a, b validator.Rule) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// stopValidation is the panic that ends the library's walk of a document early.
type stopValidation struct{}

// validate checks a document against the schema. It ends when ctx ends, and after
// maxErrors errors, because an error may cost a search for similar names.
func validate(ctx context.Context, schema *ast.Schema, document *ast.QueryDocument, list []validator.Rule, maxErrors int) (found gqlerror.List, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case stopValidation:
			err = ctx.Err()
		default:
			panic(cause)
		}
	}()
	observers := &validator.Events{}
	steps := 0
	step := func() {
		const checkEvery = 128
		if steps++; steps%checkEvery == 0 && ctx.Err() != nil {
			panic(stopValidation{})
		}
	}
	observers.OnField(func(*validator.Walker, *ast.Field) { step() })
	observers.OnFragmentSpread(func(*validator.Walker, *ast.FragmentSpread) { step() })
	observers.OnValue(func(*validator.Walker, *ast.Value) { step() })
	for _, rule := range list {
		rule.RuleFunc(observers, func(options ...validator.ErrorOption) {
			e := &gqlerror.Error{Rule: rule.Name}
			for _, option := range options {
				option(e)
			}
			if found = append(found, e); len(found) >= maxErrors {
				panic(stopValidation{})
			}
		})
	}
	validator.Walk(schema, document, observers)
	return found, ctx.Err()
}
