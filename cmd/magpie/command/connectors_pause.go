package command

import "github.com/google/uuid"

type connectorsPause struct {
	Connector string `arg:"" help:"Id or name."`
}

// Run pauses the connector.
func (c connectorsPause) Run(r *runtime) error {
	return r.switchConnector(c.Connector, "PauseConnector")
}

type connectorsResume struct {
	Connector string `arg:"" help:"Id or name."`
}

// Run ends the pause.
func (c connectorsResume) Run(r *runtime) error {
	return r.switchConnector(c.Connector, "ResumeConnector")
}

// switchConnector calls an operation on a connector and shows what it is then.
func (r *runtime) switchConnector(wanted, operation string) error {
	return r.withConnector(wanted, func(s *session, id uuid.UUID) error {
		var answer struct {
			Connector connectorRow `json:"connector"`
		}
		if err := s.do(r, operation, variables{"id": id}, &answer); err != nil {
			return err
		}
		return r.showConnector(answer.Connector)
	})
}
