package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ReembedName is the type of [Reembed] tasks.
const ReembedName = "reembed"

// Reembed asks for the next slice of work on a collection whose passages need
// vectors: it is changing its model, or writers left some of an old one.
type Reembed struct {
	Workspace  uuid.UUID `json:"workspace_id"`
	Collection uuid.UUID `json:"collection_id"`
}

var _ Task = Reembed{}

// Name is [ReembedName].
func (Reembed) Name() string { return ReembedName }

// ID is "reembed:<collection>".
func (r Reembed) ID() string { return fmt.Sprintf("%s:%s", ReembedName, r.Collection) }

// Options of a change of models. A slice ends by itself long before the
// timeout; what is left is found again in PostgreSQL, so that the few
// repetitions are for a model that is away for a moment.
func (r Reembed) Options() Options {
	return Options{MaxRetry: 3, Timeout: 15 * time.Minute, Queue: Upkeep}
}

// DecodeReembed reads the payload of a task of the type [ReembedName].
func DecodeReembed(payload []byte) (Reembed, error) {
	var r Reembed
	if err := json.Unmarshal(payload, &r); err != nil {
		return Reembed{}, fmt.Errorf("decode the payload of a reembed task: %w", err)
	}
	if r.Workspace == uuid.Nil || r.Collection == uuid.Nil {
		return Reembed{}, fmt.Errorf("decode the payload of a reembed task: it names no workspace or no collection")
	}
	return r, nil
}
