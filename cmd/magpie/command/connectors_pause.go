package command

import (
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type connectorsPause struct {
	Connector string `arg:"" help:"Id or name."`
}

// Run pauses the connector.
func (c connectorsPause) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		row, err := api.PauseConnector(r, id)
		if err != nil {
			return err
		}
		return r.showConnector(row)
	})
}

type connectorsResume struct {
	Connector string `arg:"" help:"Id or name."`
}

// Run ends the pause.
func (c connectorsResume) Run(r *runtime) error {
	return r.withConnector(c.Connector, func(api *client.Client, id uuid.UUID) error {
		row, err := api.ResumeConnector(r, id)
		if err != nil {
			return err
		}
		return r.showConnector(row)
	})
}
