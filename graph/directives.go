package graph

import (
	"context"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// surfaceDirective lets a root field answer on the surfaces it names only, and
// to callers without credentials only where it says so.
func surfaceDirective(ctx context.Context, _ any, next graphql.Resolver, on []model.Surface, anonymous bool) (any, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind == viewer.KindAnonymous && !anonymous {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	if !slices.Contains(on, model.Surface(v.Surface)) {
		return nil, apierr.New(apierr.Forbidden, "This is not available on this surface")
	}
	return next(ctx)
}

// roleDirective asks signed-in people for a role. Magpie itself has every role;
// API keys have none.
func roleDirective(ctx context.Context, _ any, next graphql.Resolver, atLeast model.Role) (any, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind == viewer.KindAnonymous {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	if !v.Role.AtLeast(viewer.Role(strings.ToLower(string(atLeast)))) {
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role "+strings.ToLower(string(atLeast)))
	}
	return next(ctx)
}
