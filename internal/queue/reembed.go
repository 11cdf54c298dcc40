package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ReembedName is the type of [Reembed] tasks.
const ReembedName = "reembed"

// A Reembed asks for the next slice of work on a collection whose passages need
// vectors, because its model changes or passages have vectors of an old model.
type Reembed struct {
	Workspace  uuid.UUID `json:"workspace_id"`
	Collection uuid.UUID `json:"collection_id"`
}

var _ Task = Reembed{}

// Name returns [ReembedName].
func (Reembed) Name() string { return ReembedName }

// ID returns "reembed:<collection>".
func (r Reembed) ID() string { return fmt.Sprintf("%s:%s", ReembedName, r.Collection) }

// Options returns the options of a change of models. A slice ends long before the
// timeout; the rest is found in PostgreSQL. The retries are for a model that is
// unavailable; meanwhile the queue keeps the reason.
func (r Reembed) Options() Options {
	return Options{MaxRetry: 20, Timeout: 15 * time.Minute, Queue: Upkeep}
}

// DecodeReembed decodes the payload of a task of type [ReembedName].
func DecodeReembed(payload []byte) (Reembed, error) {
	var r Reembed
	if err := json.Unmarshal(payload, &r); err != nil {
		return Reembed{}, fmt.Errorf("decode the payload of a reembed task: %w", err)
	}
	if r.Workspace == uuid.Nil || r.Collection == uuid.Nil {
		return Reembed{}, fmt.Errorf("decode the payload of a reembed task: a workspace or a collection is missing")
	}
	return r, nil
}
