package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// PurgeName is the type of [Purge] tasks.
const PurgeName = "purge"

// A Purge asks for the next slice of the deletion of a connector.
type Purge struct {
	Workspace uuid.UUID `json:"workspace_id"`
	Connector uuid.UUID `json:"connector_id"`
}

var _ Task = Purge{}

// Name returns [PurgeName].
func (Purge) Name() string { return PurgeName }

// ID returns "purge:<connector>".
func (p Purge) ID() string { return fmt.Sprintf("%s:%s", PurgeName, p.Connector) }

// Options returns the options of a deletion. A slice ends long before the timeout;
// the rest is found in PostgreSQL.
func (p Purge) Options() Options {
	return Options{MaxRetry: 3, Timeout: 15 * time.Minute, Queue: Upkeep}
}

// DecodePurge decodes the payload of a task of type [PurgeName].
func DecodePurge(payload []byte) (Purge, error) {
	var p Purge
	if err := json.Unmarshal(payload, &p); err != nil {
		return Purge{}, fmt.Errorf("decode the payload of a purge task: %w", err)
	}
	if p.Workspace == uuid.Nil || p.Connector == uuid.Nil {
		return Purge{}, fmt.Errorf("decode the payload of a purge task: a workspace or a connector is missing")
	}
	return p, nil
}
