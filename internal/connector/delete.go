package connector

import (
	"context"

	"github.com/google/uuid"

	entconnector "github.com/magpie-search/magpie/ent/connector"
)

// Delete marks a connector as deleted, which hides it and everything that belongs
// to it. worker/purge deletes the rows in slices.
func (c *Connectors) Delete(ctx context.Context, id uuid.UUID) error {
	if err := c.Exists(ctx, id); err != nil {
		return err
	}
	return c.delete(ctx, id)
}

// DeleteAll deletes the connectors of a collection as Delete does.
func (c *Connectors) DeleteAll(ctx context.Context, collection uuid.UUID) error {
	ids, err := c.client(ctx).Connector.Query().Where(entconnector.CollectionID(collection)).IDs(ctx)
	if err != nil {
		return err
	}
	return c.delete(ctx, ids...)
}

// delete cancels the jobs of connectors, so that no worker writes any more, and
// marks the connectors as deleted.
func (c *Connectors) delete(ctx context.Context, ids ...uuid.UUID) error {
	if err := c.o.Jobs.Abandon(ctx, ids...); err != nil {
		return err
	}
	return c.client(ctx).Connector.Update().Where(entconnector.IDIn(ids...)).SetDeletingAt(c.o.Now()).Exec(ctx)
}
