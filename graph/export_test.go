package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"magpie/graph/generated"
	"magpie/graph/model"
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
