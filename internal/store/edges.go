package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
)

// noder is the part of the mutations' client that reads a thing by id, through
// the policy of its entity.
type noder interface {
	Client() *ent.Client
}

// visibleEdges refuses to link a row to one that the writer cannot read: ent's
// policies filter reads, but take the ids of edges as they come.
func visibleEdges(next ent.Mutator) ent.Mutator {
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		for _, edge := range m.AddedEdges() {
			for _, v := range m.AddedIDs(edge) {
				id, ok := v.(uuid.UUID)
				if !ok {
					return nil, apierr.NotFound(edge)
				}
				if err := visible(ctx, m, id); err != nil {
					return nil, err
				}
			}
		}
		return next.Mutate(ctx, m)
	})
}

func visible(ctx context.Context, m ent.Mutation, id uuid.UUID) error {
	c, ok := m.(noder)
	if !ok {
		return apierr.NotFound("The linked thing")
	}
	switch _, err := c.Client().Noder(ctx, id, ent.WithNodeType(gid.Table)); {
	case ent.IsNotFound(err):
		return apierr.NotFound("The thing with the id " + id.String())
	case err != nil:
		return apierr.Wrap("read a linked row", err)
	}
	return nil
}
