package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// PurgeName is the type of [Purge] tasks.
const PurgeName = "purge"

// Purge asks for the next slice of the deletion of a connector.
type Purge struct {
	Workspace uuid.UUID `json:"workspace_id"`
	Connector uuid.UUID `json:"connector_id"`
}

var _ Task = Purge{}

// Name is [PurgeName].
func (Purge) Name() string { return PurgeName }

// ID is "purge:<connector>".
func (p Purge) ID() string { return fmt.Sprintf("%s:%s", PurgeName, p.Connector) }

// Options of a deletion. A task ends by itself long before the timeout; what is
// left is found again in PostgreSQL.
func (p Purge) Options() Options {
	return Options{MaxRetry: 3, Timeout: 15 * time.Minute, Queue: Upkeep}
}

// DecodePurge reads the payload of a task of the type [PurgeName].
func DecodePurge(payload []byte) (Purge, error) {
	var p Purge
	if err := json.Unmarshal(payload, &p); err != nil {
		return Purge{}, fmt.Errorf("decode the payload of a purge task: %w", err)
	}
	if p.Workspace == uuid.Nil || p.Connector == uuid.Nil {
		return Purge{}, fmt.Errorf("decode the payload of a purge task: it names no workspace or no connector")
	}
	return p, nil
}
