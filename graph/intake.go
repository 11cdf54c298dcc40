package graph

import (
	"context"
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// intake takes the documents of operations in: it bounds, parses and validates
// them in place of the executor, which parses whatever it gets. As the
// executor's cache it hands them over.
type intake struct {
	schema *ast.Schema
	rules  []validator.Rule
	// Outside documents cannot drive those of Magpie's own out.
	outside, stored *parsedCache
}

var (
	_ graphql.OperationParameterMutator = (*intake)(nil)
	_ graphql.Cache[*ast.QueryDocument] = (*intake)(nil)
	_ graphql.OperationContextMutator   = keeper{}
)

func newIntake(schema *ast.Schema, cacheBytes int) *intake {
	stored := storedShare(cacheBytes)
	outside := cacheBytes - stored
	return &intake{
		schema: schema, rules: validationRules(), outside: newParsedCache(outside, outside/parsedShare), stored: newParsedCache(stored, stored),
	}
}

// ExtensionName names the extension.
func (*intake) ExtensionName() string { return "Intake" }

// Validate accepts every schema.
func (*intake) Validate(graphql.ExecutableSchema) error { return nil }

// stranger says that an operation is nobody's: its caller may sign in and the
// like, gets the smallest bounds, and is told nothing of the schema.
func stranger(ctx context.Context) bool {
	v, ok := viewer.From(ctx)
	return !isStored(ctx) && (!ok || v.Kind == viewer.KindAnonymous || v.Kind == "")
}

// MutateOperationParameters takes the document of an operation in.
func (i *intake) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *graphqlError {
	operation := graphql.GetOperationContext(ctx)
	nobody := stranger(ctx)
	cache, limit := i.outside, boundsOfPeople()
	switch {
	case isStored(ctx):
		cache, limit = i.stored, boundsOfStored()
	case nobody:
		limit = boundsOfStrangers()
	}
	if known := cache.get(params.Query); known != nil {
		operation.Doc = known.document
		return limit.check(known.measured)
	}
	document, m, err := limit.read(params.Query)
	if err != nil {
		var own *graphqlError
		if errors.As(err, &own) {
			return own
		}
		return refusal("%s", err.Error())
	}
	if len(document.Operations) == 0 {
		return refusal("no operation provided")
	}
	most := maxMistakes
	if nobody {
		if !forStrangers(i.schema, document) {
			return sessionRequired()
		}
		most = 1
	}
	wrong, err := validate(ctx, i.schema, document, i.rules, most)
	switch {
	case err != nil:
		return refusal("the request has ended")
	case len(wrong) > 0 && nobody:
		return unfit()
	case len(wrong) > 0:
		return &gqlerror.Error{Err: &several{wrong}, Message: wrong[0].Message}
	}
	operation.Doc = document
	operation.Stats.SetExtension(keeper{}.ExtensionName(), &parsed{document: document, measured: m})
	return nil
}

// unfit is all that strangers are told of a document that does not fit the
// schema: what fits, and where, would tell them the names in it.
func unfit() *graphqlError {
	return refusal("the operation does not fit the schema; sign in to be told why")
}

// sessionRequired answers strangers whatever is not for them, there or not.
func sessionRequired() *graphqlError {
	err := apierr.New(apierr.Unauthorized, "Session required")
	return &gqlerror.Error{Err: err, Message: err.Message}
}

// Get hands the executor the document that was taken in.
func (*intake) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	document := graphql.GetOperationContext(ctx).Doc
	return document, document != nil
}

// Add is never called: nothing is parsed by the executor.
func (*intake) Add(context.Context, string, *ast.QueryDocument) {}

// several stands for the mistakes of one document where one error has to do.
type several struct{ list gqlerror.List }

// Error says the first.
func (s *several) Error() string { return s.list[0].Error() }

// Unwrap gives the first.
func (s *several) Unwrap() error { return s.list[0] }

// apart gives the errors for which some of a list stand.
func apart(list gqlerror.List) gqlerror.List {
	var all gqlerror.List
	for _, err := range list {
		if s, ok := errors.AsType[*several](err.Err); ok {
			for _, mistake := range s.list {
				each := *mistake
				all = append(all, &each)
			}
			continue
		}
		all = append(all, err)
	}
	return all
}

// keeper keeps the documents of operations that have passed every limit, for
// the next time. It has to be the last of the extensions that refuse.
type keeper struct{ intake *intake }

// ExtensionName names the extension.
func (keeper) ExtensionName() string { return "Keeper" }

// Validate accepts every schema.
func (keeper) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext refuses nothing.
func (k keeper) MutateOperationContext(ctx context.Context, rc *graphql.OperationContext) *graphqlError {
	fresh, ok := rc.Stats.GetExtension(k.ExtensionName()).(*parsed)
	switch {
	case !ok:
	case isStored(ctx):
		k.intake.stored.add(rc.RawQuery, fresh)
	case !stranger(ctx): // whose few are parsed as fast as they come, and would drive out those of people
		k.intake.outside.add(rc.RawQuery, fresh)
	}
	return nil
}

// forStrangers says that all root fields of a document answer strangers. It is
// asked before anything is validated, so that nothing else is told apart.
func forStrangers(schema *ast.Schema, document *ast.QueryDocument) bool {
	for _, operation := range document.Operations {
		root := schema.Query
		switch operation.Operation {
		case ast.Mutation:
			root = schema.Mutation
		case ast.Subscription:
			root = schema.Subscription
		}
		if !open(root, document.Fragments, operation.SelectionSet) {
			return false
		}
	}
	return true
}

// open says that all fields of a root selection answer strangers. Fragments lead
// in no circle here.
func open(root *ast.Definition, fragments ast.FragmentDefinitionList, set ast.SelectionSet) bool {
	for _, s := range set {
		ok := true
		switch s := s.(type) {
		case *ast.Field:
			ok = s.Name == "__typename" || anonymous(root.Fields.ForName(s.Name))
		case *ast.InlineFragment:
			ok = open(root, fragments, s.SelectionSet)
		case *ast.FragmentSpread:
			if f := fragments.ForName(s.Name); f != nil {
				ok = open(root, fragments, f.SelectionSet)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// anonymous says that a root field answers callers without credentials.
func anonymous(f *ast.FieldDefinition) bool {
	if f == nil {
		return false
	}
	surface := f.Directives.ForName("surface")
	if surface == nil {
		return false
	}
	given := surface.Arguments.ForName("anonymous")
	return given != nil && given.Value.Raw == "true"
}
