package connector

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/store/lookup"
)

// A Draft describes a connector to create.
type Draft struct {
	Name, Type string
	Collection uuid.UUID
	Settings
	Schedules
	Disabled bool
}

// Create stores a connector. A disabled one is paused.
func (c *Connectors) Create(ctx context.Context, d Draft) (*ent.Connector, error) {
	name, err := check.Name("name", d.Name)
	if err != nil {
		return nil, err
	}
	kind, err := c.kind(d.Type)
	if err != nil {
		return nil, err
	}
	settings, err := c.newSettings(ctx, kind, d.Settings)
	if err != nil {
		return nil, err
	}
	client := c.client(ctx)
	if err := lookup.Exists(ctx, "Collection", client.Collection.Query().Where(collection.ID(d.Collection))); err != nil {
		return nil, err
	}
	id := gid.New(gid.Connector)
	create := client.Connector.Create().SetID(id).SetName(name).SetType(kind.Name).
		SetCollectionID(d.Collection).SetConfig(settings.Config).SetNillableGrantID(settings.grant)
	if len(settings.Credentials) > 0 {
		sealed, err := c.o.Vault.Seal(id, settings.Credentials)
		if err != nil {
			return nil, apierr.Wrap("create a connector", err)
		}
		create.SetCredentials(sealed)
	}
	if d.Disabled {
		create.SetEnabled(false).SetStatus(entconnector.StatusPaused)
	}
	if err := c.setSchedule(create.Mutation(), nil, kind, d.Schedules); err != nil {
		return nil, err
	}
	return create.Save(ctx)
}
