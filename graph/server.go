package graph

import (
	"context"

	"entgo.io/contrib/entgql"
	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/generated"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Options are the limits on operations that come from outside. Stored
// operations, which Magpie wrote itself, are not bound by them.
type Options struct {
	MaxComplexity int // estimated fields; 0 = 5,000
	MaxDepth      int // levels of selection; 0 = 10
	QueryCache    int // bytes of parsed documents kept; 0 = 16 MiB
}

// The largest page of a connection, and the size of one that names none.
const (
	maxPage     = 200
	defaultPage = 50
)

// NewSchema is the executable schema over r.
func NewSchema(r *Resolver) graphql.ExecutableSchema {
	c := generated.Config{Resolvers: r}
	c.Directives.Surface = surfaceDirective
	c.Directives.Role = roleDirective
	setComplexity(&c.Complexity)
	return generated.NewExecutableSchema(c)
}

// NewServer is the GraphQL server over schema, with its limits, transactions
// and errors, but without transports: the caller adds those it serves.
func NewServer(r *Resolver, schema graphql.ExecutableSchema, o Options) *handler.Server {
	if o.MaxComplexity == 0 {
		o.MaxComplexity = 5000
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 10
	}
	if o.QueryCache == 0 {
		o.QueryCache = parsedBytes
	}
	r.Ent.Intercept(ent.InterceptFunc(remember), ent.InterceptFunc(r.withoutPaths))
	if r.defaults == nil {
		r.defaults = &defaults{}
	}
	s := handler.New(schema)
	documents := newIntake(schema.Schema(), o.QueryCache)
	s.SetQueryCache(documents)
	s.SetErrorPresenter(presenter(r.Log))
	s.SetRecoverFunc(recovered)
	s.Use(documents)
	s.Use(introspection{})
	s.Use(&extension.ComplexityLimit{Func: func(ctx context.Context, _ *graphql.OperationContext) int {
		if isStored(ctx) {
			return unlimited
		}
		return o.MaxComplexity
	}})
	s.Use(depthLimit{max: o.MaxDepth})
	s.Use(pageLimit{})
	s.Use(newIntrospectionLimit(schema.Schema()))
	s.Use(keeper{documents})
	s.Use(writtenResults{})
	s.Use(entgql.Transactioner{TxOpener: r.Ent, SkipTxFunc: entgql.SkipIfHasFields(untransacted()...)})
	s.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		// Everything that an operation reads, and whatever it sets going, finds out
		// by this who may read what.
		if r.Principals != nil {
			ctx = viewer.WithPrincipals(ctx, r.Principals)
		}
		return next(withLoaders(ctx, r))
	})
	s.AroundResponses(safeProtocolErrors)
	return s
}

// untransacted names the mutations that hash passwords, wait for a network,
// take a body in or write in a transaction of their own: no other one is held
// over those.
func untransacted() []string {
	return []string{
		"signUp", "signIn", "refreshSession", "changePassword", "resetPassword", "acceptInvitation", "testConnector",
		"testConnection", "uploadFiles", "deleteFiles", "deleteDocument", "restoreDocument", "refreshCollectionStats", "recordEvents",
		"createAgentMemory", "updateAgentMemory", "deleteAgentMemory", "cancelRun", "startOAuth", "finishOAuth",
		"revokeOAuthGrant", "startOIDCSignIn", "answerOIDCSignIn", "finishOIDCSignIn",
	}
}
