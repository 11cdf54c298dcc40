package connector

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entconnector "github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/store/lookup"
)

// A Change describes what to change about a connector. Nil fields keep their
// value.
type Change struct {
	Name *string
	Settings
	Schedules
	Enabled *bool
}

// Update changes a connector. Its sync goes on if the change ends a pause.
func (c *Connectors) Update(ctx context.Context, id uuid.UUID, change Change) (*ent.Connector, error) {
	client := c.client(ctx)
	row, err := client.Connector.Query().Where(entconnector.ID(id)).ForUpdate().Only(ctx)
	if err != nil {
		return nil, lookup.Error("Connector", err)
	}
	kind, err := c.kind(row.Type)
	if err != nil {
		return nil, err
	}
	update := client.Connector.UpdateOne(row)
	if change.Name != nil {
		name, err := check.Name("name", *change.Name)
		if err != nil {
			return nil, err
		}
		update.SetName(name)
	}
	if err := c.updateSettings(ctx, update, row, kind, change.Settings); err != nil {
		return nil, err
	}
	updateStatus(update, row, change)
	if err := c.setSchedule(update.Mutation(), row, kind, change.Schedules); err != nil {
		return nil, err
	}
	updated, err := update.Save(ctx)
	if err != nil {
		return nil, err
	}
	if row.Status == entconnector.StatusPaused && updated.Status != entconnector.StatusPaused {
		return updated, c.o.Jobs.Wake(ctx, id)
	}
	return updated, nil
}

func (c *Connectors) updateSettings(ctx context.Context, update *ent.ConnectorUpdateOne, row *ent.Connector, kind connectors.Kind, s Settings) error {
	if !s.given() {
		return nil
	}
	settings, err := c.changedSettings(ctx, row, kind, s)
	if err != nil {
		return err
	}
	update.SetConfig(settings.Config)
	updatePermissions(update, row.Config, settings.Config)
	if settings.grant != nil {
		update.SetGrantID(*settings.grant)
	} else {
		update.ClearGrantID()
	}
	if s.Credentials == nil {
		return nil
	}
	sealed, err := c.o.Vault.Seal(row.ID, settings.Credentials)
	if err != nil {
		return apierr.Wrap("update a connector", err)
	}
	update.SetCredentials(sealed)
	return nil
}

// updateStatus sets the status that follows from a change. New settings are taken
// to repair a connector until its next sync finds otherwise.
func updateStatus(update *ent.ConnectorUpdateOne, row *ent.Connector, change Change) {
	status := row.Status
	switch {
	case change.Credentials != nil && status == entconnector.StatusNeedsAuth,
		change.given() && status == entconnector.StatusError:
		status = entconnector.StatusActive
		update.ClearLastError()
	}
	if change.Enabled != nil {
		update.SetEnabled(*change.Enabled)
		switch {
		case !*change.Enabled:
			status = entconnector.StatusPaused
		case status == entconnector.StatusPaused:
			status = entconnector.StatusActive
		}
	}
	update.SetStatus(status)
}
