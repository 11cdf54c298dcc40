package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/apikey"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Deleting what may hold any number of documents is one short write: the row
// gets a tombstone, which hides it and all that hangs on it from everybody, and
// the worker deletes the rest in slices (worker/purge).

// deleteCollection ends a collection with everything in it.
func (r *Resolver) deleteCollection(ctx context.Context, id uuid.UUID) error {
	client := r.client(ctx)
	switch n, err := client.Collection.Update().Where(collection.ID(id)).SetDeletingAt(r.Now()).Save(ctx); {
	case err != nil:
		return err
	case n == 0:
		return apierr.NotFound("Collection")
	}
	ids, err := client.Connector.Query().Where(connector.CollectionID(id)).IDs(ctx)
	if err != nil {
		return err
	}
	if err := r.doom(ctx, ids...); err != nil {
		return err
	}
	// Whoever may delete a collection need not be somebody who may change keys.
	v, _ := viewer.From(ctx)
	return client.APIKey.Update().Where(apikey.DefaultCollection(id)).ClearDefaultCollection().
		Exec(viewer.With(ctx, viewer.System(v.Workspace)))
}

// deleteConnector ends a connector with its documents, files and history.
func (r *Resolver) deleteConnector(ctx context.Context, id uuid.UUID) error {
	if err := r.connectorExists(ctx, id); err != nil {
		return err
	}
	return r.doom(ctx, id)
}

// doom hides connectors and shuts the workers of their syncs out.
func (r *Resolver) doom(ctx context.Context, ids ...uuid.UUID) error {
	if err := r.Jobs.Abandon(ctx, ids...); err != nil {
		return err
	}
	return r.client(ctx).Connector.Update().Where(connector.IDIn(ids...)).SetDeletingAt(r.Now()).Exec(ctx)
}
