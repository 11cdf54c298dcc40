package graph

import (
	"context"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/viewer"
)

// metered counts one query of the caller, of all checks the last. What Magpie
// asks itself, on the command line or to measure, costs nobody anything.
func (r *Resolver) metered(ctx context.Context) error {
	if v, ok := viewer.From(ctx); ok && v.Surface == viewer.SurfaceInternal {
		return nil
	}
	s, err := scope(ctx)
	if err != nil {
		return err
	}
	return r.Quota.Take(ctx, s)
}

func (r *Resolver) usage(ctx context.Context) (*model.Usage, error) {
	s, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	u, err := r.Quota.Usage(ctx, s)
	if err != nil {
		return nil, err
	}
	out := &model.Usage{PeriodStart: u.Start, PeriodEnd: u.End, Queries: u.Queries}
	if u.Limit > 0 {
		left := u.Remaining()
		out.Limit, out.Remaining = &u.Limit, &left
	}
	return out, nil
}
