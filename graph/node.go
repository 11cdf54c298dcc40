package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// mayReadKind reports whether the viewer's role allows reading rows of an id's kind. It
// must agree with the @role directive of the root field that lists them.
func mayReadKind(ctx context.Context, id uuid.UUID) bool {
	if kind, ok := gid.KindOf(id); !ok || kind != gid.APIKey && kind != gid.Invitation && kind != gid.AuditEntry {
		return true
	}
	v, ok := viewer.From(ctx)
	return ok && v.Role.AtLeast(viewer.RoleAdmin)
}

// tableOf returns the table of an id's row.
func tableOf(ctx context.Context, id uuid.UUID) (string, error) {
	table, err := gid.Table(ctx, id)
	if err != nil {
		return "", apierr.NotFound("Node")
	}
	return table, nil
}

func (r *Resolver) node(ctx context.Context, id uuid.UUID) (ent.Noder, error) {
	if !mayReadKind(ctx, id) {
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role admin")
	}
	row, err := r.client(ctx).Noder(ctx, id, ent.WithNodeType(tableOf))
	switch {
	case ent.IsNotFound(err):
		return nil, apierr.NotFound("Node")
	case err != nil:
		return nil, err
	}
	return row, nil
}

func (r *Resolver) nodes(ctx context.Context, ids []uuid.UUID) ([]ent.Noder, error) {
	for _, id := range ids {
		if !mayReadKind(ctx, id) {
			return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role admin")
		}
	}
	return r.client(ctx).Noders(ctx, ids, ent.WithNodeType(tableOf))
}
