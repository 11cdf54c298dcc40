package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// surfaceDirective lets a root field answer on the surfaces that on names. Callers
// without credentials need anonymous. Every root field has this directive, so that
// it is the place to check pages, too.
func surfaceDirective(ctx context.Context, _ any, next graphql.Resolver, on []model.Surface, anonymous bool) (any, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind == viewer.KindAnonymous && !anonymous {
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	}
	if !slices.Contains(on, model.Surface(v.Surface)) {
		return nil, apierr.New(apierr.Forbidden, "This is not available on this surface")
	}
	if err := setPage(graphql.GetFieldContext(ctx).Args); err != nil {
		return nil, err
	}
	return next(ctx)
}

// roleDirective requires a role of signed-in people. Magpie itself has every role,
// an API key has none.
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

// setPage checks the page of a root field that lists rows. If the arguments have
// neither first nor last, it sets first to the default.
func setPage(arguments map[string]any) error {
	first, lists := arguments["first"].(*int)
	if !lists {
		return nil
	}
	last, _ := arguments["last"].(*int)
	for name, n := range map[string]*int{"first": first, "last": last} {
		if n != nil && (*n < 1 || *n > maxPage) {
			return apierr.Invalid(name, fmt.Sprintf("must be between 1 and %d", maxPage))
		}
	}
	if first == nil && last == nil {
		n := defaultPage
		arguments["first"] = &n
	}
	return nil
}
