package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
)

// clientMutation is implemented by the generated mutations.
type clientMutation interface {
	Client() *ent.Client
}

// checkEdges refuses to link a row to a row that the writer cannot see. The
// policies of ent filter queries, but do not check the ids of edges.
func checkEdges(next ent.Mutator) ent.Mutator {
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		for _, edge := range m.AddedEdges() {
			for _, v := range m.AddedIDs(edge) {
				id, ok := v.(uuid.UUID)
				if !ok {
					return nil, apierr.NotFound(edge)
				}
				if err := checkVisible(ctx, m, id); err != nil {
					return nil, err
				}
			}
		}
		return next.Mutate(ctx, m)
	})
}

func checkVisible(ctx context.Context, m ent.Mutation, id uuid.UUID) error {
	c, ok := m.(clientMutation)
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
