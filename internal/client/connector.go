package client

import (
	"context"

	"github.com/google/uuid"
)

// Collections lists the collections of the workspace by name.
func (c *Client) Collections(ctx context.Context) ([]Collection, error) {
	return List[Collection](ctx, c, "ListCollections", nil, 0)
}

// Collection returns a collection.
func (c *Client) Collection(ctx context.Context, id uuid.UUID) (Collection, error) {
	var data struct {
		Collection Collection `json:"collection"`
	}
	err := c.Do(ctx, "GetCollection", Variables{"id": id}, &data)
	return data.Collection, err
}

// CreateCollection creates a collection.
func (c *Client) CreateCollection(ctx context.Context, input Variables) (Collection, error) {
	var data struct {
		Collection Collection `json:"collection"`
	}
	err := c.Do(ctx, "CreateCollection", Variables{"input": input}, &data)
	return data.Collection, err
}

// Kinds lists the kinds of connectors with their options.
func (c *Client) Kinds(ctx context.Context) ([]Kind, error) {
	var data struct {
		Kinds []Kind `json:"kinds"`
	}
	err := c.Do(ctx, "ConnectorKinds", nil, &data)
	return data.Kinds, err
}

// Connectors lists the connectors of a collection by name, or those of all
// collections for uuid.Nil.
func (c *Client) Connectors(ctx context.Context, collection uuid.UUID) ([]Connector, error) {
	v := Variables{}
	if collection != uuid.Nil {
		v["collection"] = collection
	}
	return List[Connector](ctx, c, "ListConnectors", v, 0)
}

// Connector returns a connector.
func (c *Client) Connector(ctx context.Context, id uuid.UUID) (Connector, error) {
	return c.connector(ctx, "GetConnector", Variables{"id": id})
}

// CreateConnector creates a connector.
func (c *Client) CreateConnector(ctx context.Context, input Variables) (Connector, error) {
	return c.connector(ctx, "CreateConnector", Variables{"input": input})
}

// UpdateConnector changes a connector and returns its new state.
func (c *Client) UpdateConnector(ctx context.Context, id uuid.UUID, input Variables) (Connector, error) {
	return c.connector(ctx, "UpdateConnector", Variables{"id": id, "input": input})
}

// PauseConnector stops the syncs of a connector and returns its new state.
func (c *Client) PauseConnector(ctx context.Context, id uuid.UUID) (Connector, error) {
	return c.connector(ctx, "PauseConnector", Variables{"id": id})
}

// ResumeConnector ends a pause and returns the connector's new state.
func (c *Client) ResumeConnector(ctx context.Context, id uuid.UUID) (Connector, error) {
	return c.connector(ctx, "ResumeConnector", Variables{"id": id})
}

func (c *Client) connector(ctx context.Context, operation string, v Variables) (Connector, error) {
	var data struct {
		Connector Connector `json:"connector"`
	}
	err := c.Do(ctx, operation, v, &data)
	return data.Connector, err
}

// EnsureConnector returns the connector of a kind by its name and the name of
// its collection, and creates both where they are missing. An existing connector
// gets the settings, which are fields of the input object of a connector.
func (c *Client) EnsureConnector(ctx context.Context, collection Variables, name, kind string, settings Variables) (Connector, error) {
	in, err := c.ensureCollection(ctx, collection)
	if err != nil {
		return Connector{}, err
	}
	existing, err := c.Connectors(ctx, in)
	if err != nil {
		return Connector{}, err
	}
	for _, row := range existing {
		switch {
		case row.Name != name || row.Type != kind:
		case len(settings) == 0:
			return row, nil
		default:
			return c.UpdateConnector(ctx, row.ID, settings)
		}
	}
	input := clone(settings)
	input["name"], input["type"], input["collection"] = name, kind, in
	return c.CreateConnector(ctx, input)
}

// ensureCollection returns the id of the collection with the name of the input,
// which it creates when there is none.
func (c *Client) ensureCollection(ctx context.Context, input Variables) (uuid.UUID, error) {
	existing, err := c.Collections(ctx)
	if err != nil {
		return uuid.Nil, err
	}
	for _, row := range existing {
		if row.Name == input["name"] {
			return row.ID, nil
		}
	}
	created, err := c.CreateCollection(ctx, input)
	return created.ID, err
}

// CreateKey creates a pair of API keys.
func (c *Client) CreateKey(ctx context.Context, input Variables) (CreatedKey, error) {
	var data struct {
		Created CreatedKey `json:"created"`
	}
	err := c.Do(ctx, "CreateKey", Variables{"input": input}, &data)
	return data.Created, err
}
