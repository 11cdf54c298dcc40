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

// A documentParser limits, parses and validates the documents of operations before the
// executor, which would parse a document of any size. The executor reads the results
// through the documentParser, which is its query cache.
type documentParser struct {
	schema *ast.Schema
	rules  []validator.Rule
	// Documents of clients cannot evict those of Magpie's stored operations.
	clients, stored *documentCache
}

var (
	_ graphql.OperationParameterMutator = (*documentParser)(nil)
	_ graphql.Cache[*ast.QueryDocument] = (*documentParser)(nil)
	_ graphql.OperationContextMutator   = cacheWriter{}
)

func newDocumentParser(schema *ast.Schema, cacheBytes int) *documentParser {
	stored := storedBytes(cacheBytes)
	clients := cacheBytes - stored
	return &documentParser{
		schema: schema, rules: validationRules(), clients: newDocumentCache(clients, clients/minCachedDocuments), stored: newDocumentCache(stored, stored),
	}
}

// ExtensionName names the extension.
func (*documentParser) ExtensionName() string { return "DocumentParser" }

// Validate accepts every schema.
func (*documentParser) Validate(graphql.ExecutableSchema) error { return nil }

// isAnonymous reports whether the caller of an operation has no credentials. Such a
// caller has the strictest limits and may ask only for fields such as signIn.
func isAnonymous(ctx context.Context) bool {
	v, ok := viewer.From(ctx)
	return !isStored(ctx) && (!ok || v.Kind == viewer.KindAnonymous || v.Kind == "")
}

// MutateOperationParameters parses and validates the document of an operation, unless
// it is cached.
func (p *documentParser) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *graphqlError {
	operation := graphql.GetOperationContext(ctx)
	anonymous := isAnonymous(ctx)
	cache, limits := p.clients, authenticatedLimits()
	switch {
	case isStored(ctx):
		cache, limits = p.stored, noLimits()
	case anonymous:
		limits = anonymousLimits()
	}
	if cached := cache.get(params.Query); cached != nil {
		operation.Doc = cached.document
		return limits.check(cached.size)
	}
	document, size, err := limits.parse(params.Query)
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
	maxErrors := maxValidationErrors
	if anonymous {
		if !allowsAnonymous(p.schema, document) {
			return sessionRequired()
		}
		maxErrors = 1
	}
	list, err := validate(ctx, p.schema, document, p.rules, maxErrors)
	switch {
	case err != nil:
		return refusal("the request has ended")
	case len(list) > 0 && anonymous:
		return invalidWithoutDetails()
	case len(list) > 0:
		return &gqlerror.Error{Err: &errorList{list}, Message: list[0].Message}
	}
	operation.Doc = document
	operation.Stats.SetExtension(cacheWriter{}.ExtensionName(), &parsedDocument{document: document, size: size})
	return nil
}

// invalidWithoutDetails is the error of every invalid document of an anonymous caller.
// Details would reveal names of the schema.
func invalidWithoutDetails() *graphqlError {
	return refusal("the operation does not fit the schema; sign in to be told why")
}

// sessionRequired is the error of an anonymous caller for every field that needs
// credentials, whether the field exists or not.
func sessionRequired() *graphqlError {
	err := apierr.New(apierr.Unauthorized, "Session required")
	return &gqlerror.Error{Err: err, Message: err.Message}
}

// Get returns the document that MutateOperationParameters has parsed.
func (*documentParser) Get(ctx context.Context, _ string) (*ast.QueryDocument, bool) {
	document := graphql.GetOperationContext(ctx).Doc
	return document, document != nil
}

// Add does nothing. The executor parses no document, so that it never calls Add.
func (*documentParser) Add(context.Context, string, *ast.QueryDocument) {}

// An errorList holds all validation errors of a document where gqlgen accepts a single
// error. splitErrors reverses it.
type errorList struct{ list gqlerror.List }

// Error returns the text of the first error.
func (l *errorList) Error() string { return l.list[0].Error() }

// Unwrap returns the first error.
func (l *errorList) Unwrap() error { return l.list[0] }

// splitErrors replaces each errorList in list by its errors.
func splitErrors(list gqlerror.List) gqlerror.List {
	var all gqlerror.List
	for _, err := range list {
		if l, ok := errors.AsType[*errorList](err.Err); ok {
			for _, e := range l.list {
				each := *e
				all = append(all, &each)
			}
			continue
		}
		all = append(all, err)
	}
	return all
}

// A cacheWriter caches the documents of operations that no extension has refused. It
// must be the last extension that may refuse operations.
type cacheWriter struct{ parser *documentParser }

// ExtensionName names the extension.
func (cacheWriter) ExtensionName() string { return "CacheWriter" }

// Validate accepts every schema.
func (cacheWriter) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext caches a document that was parsed for this operation.
func (w cacheWriter) MutateOperationContext(ctx context.Context, rc *graphql.OperationContext) *graphqlError {
	parsed, ok := rc.Stats.GetExtension(w.ExtensionName()).(*parsedDocument)
	switch {
	case !ok:
	case isStored(ctx):
		w.parser.stored.add(rc.RawQuery, parsed)
	case !isAnonymous(ctx): // their documents are short, and would evict those of people
		w.parser.clients.add(rc.RawQuery, parsed)
	}
	return nil
}

// allowsAnonymous reports whether anonymous callers may ask for all root fields of a
// document. The document need not be valid.
func allowsAnonymous(schema *ast.Schema, document *ast.QueryDocument) bool {
	for _, operation := range document.Operations {
		root := schema.Query
		switch operation.Operation {
		case ast.Mutation:
			root = schema.Mutation
		case ast.Subscription:
			root = schema.Subscription
		}
		if !selectionAllowsAnonymous(root, document.Fragments, operation.SelectionSet) {
			return false
		}
	}
	return true
}

// selectionAllowsAnonymous reports whether anonymous callers may ask for all fields of
// a selection of root fields. Its fragments have no cycles.
func selectionAllowsAnonymous(root *ast.Definition, fragments ast.FragmentDefinitionList, set ast.SelectionSet) bool {
	for _, s := range set {
		ok := true
		switch s := s.(type) {
		case *ast.Field:
			ok = s.Name == "__typename" || fieldAllowsAnonymous(root.Fields.ForName(s.Name))
		case *ast.InlineFragment:
			ok = selectionAllowsAnonymous(root, fragments, s.SelectionSet)
		case *ast.FragmentSpread:
			if f := fragments.ForName(s.Name); f != nil {
				ok = selectionAllowsAnonymous(root, fragments, f.SelectionSet)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// fieldAllowsAnonymous reports whether anonymous callers may ask for a root field.
func fieldAllowsAnonymous(f *ast.FieldDefinition) bool {
	if f == nil {
		return false
	}
	surface := f.Directives.ForName("surface")
	if surface == nil {
		return false
	}
	argument := surface.Arguments.ForName("anonymous")
	return argument != nil && argument.Value.Raw == "true"
}
