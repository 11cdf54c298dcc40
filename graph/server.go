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

// Options limit operations of clients. Stored operations, which Magpie itself
// contains, are exempt.
type Options struct {
	MaxComplexity int // estimated fields; 0 = 5,000
	MaxDepth      int // levels of selection; 0 = 10
	QueryCache    int // bytes of parsed documents kept; 0 = 16 MiB
}

// The size of a page of a connection: the largest, and the default.
const (
	maxPage     = 200
	defaultPage = 50
)

// NewSchema returns the executable schema whose fields r answers.
func NewSchema(r *Resolver) graphql.ExecutableSchema {
	c := generated.Config{Resolvers: r}
	c.Directives.Surface = surfaceDirective
	c.Directives.Role = roleDirective
	setComplexity(&c.Complexity)
	return generated.NewExecutableSchema(c)
}

// NewServer returns the GraphQL server of a schema, with limits, transactions and
// error codes, but without transports. It adds interceptors to r.Ent, so that it
// must be called once.
func NewServer(r *Resolver, schema graphql.ExecutableSchema, o Options) *handler.Server {
	if o.MaxComplexity == 0 {
		o.MaxComplexity = 5000
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 10
	}
	if o.QueryCache == 0 {
		o.QueryCache = defaultCacheBytes
	}
	r.Ent.Intercept(ent.InterceptFunc(observeRows), r.Jobs.HidePaths())
	s := handler.New(schema)
	documents := newDocumentParser(schema.Schema(), o.QueryCache)
	s.SetQueryCache(documents)
	s.SetErrorPresenter(presenter(r.Log))
	s.SetRecoverFunc(recoverPanic)
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
	s.Use(groupLimit{schema.Schema()})
	s.Use(newIntrospectionLimit(schema.Schema()))
	s.Use(cacheWriter{documents})
	s.Use(resultEncoding{})
	s.Use(entgql.Transactioner{TxOpener: r.Ent, SkipTxFunc: entgql.SkipIfHasFields(untransacted()...)})
	s.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		// Policies on documents read the principals of the viewer.
		if r.Principals != nil {
			ctx = viewer.WithPrincipals(ctx, r.Principals)
		}
		return next(withLoaders(ctx, r))
	})
	s.AroundResponses(safeProtocolErrors)
	return s
}

// untransacted returns the mutations that run outside a transaction, because they
// hash passwords, wait for a network, read a body, or open their own transaction.
func untransacted() []string {
	return []string{
		"signUp", "signIn", "refreshSession", "changePassword", "resetPassword", "acceptInvitation", "testConnector", "testInboundIntegration",
		"testConnection", "uploadFiles", "deleteFiles", "deleteDocument", "restoreDocument", "restrictDocument", "unrestrictDocument", "updateCollection", "refreshCollectionStats", "recordEvents",
		"createAgentMemory", "updateAgentMemory", "deleteAgentMemory", "cancelRun", "stopChat", "decideApproval", "startOAuth", "finishOAuth",
		"authorizeToolIntegration", "testToolIntegration", "refreshTools", "importTools", "callTool", "revokeOAuthGrant", "startOIDCSignIn", "answerOIDCSignIn", "finishOIDCSignIn",
		"startSAMLSignIn", "answerSAMLSignIn", "finishSAMLSignIn",
	}
}
