package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// RunName is the type of [Run] tasks.
const RunName = "agent_run"

// A Run asks a worker to continue a queued run of an agent.
type Run struct {
	Workspace uuid.UUID `json:"workspace_id"`
	Run       uuid.UUID `json:"run_id"`
	// Attempt is the attempt number of the run. A worker that claims the run raises
	// it, so that a second delivery of the task has no effect.
	Attempt int `json:"attempt"`
}

var _ Task = Run{}

// Name returns [RunName].
func (Run) Name() string { return RunName }

// ID returns "agent_run:<run>:<attempt>".
func (r Run) ID() string { return fmt.Sprintf("%s:%s:%d", RunName, r.Run, r.Attempt) }

// Options returns the options of a run. The handler only starts it; queued rows in
// PostgreSQL are its retries.
func (r Run) Options() Options {
	return Options{MaxRetry: 3, Timeout: time.Minute, Queue: Upkeep}
}

// DecodeRun decodes the payload of a task of type [RunName].
func DecodeRun(payload []byte) (Run, error) {
	var r Run
	if err := json.Unmarshal(payload, &r); err != nil {
		return Run{}, fmt.Errorf("decode the payload of a run task: %w", err)
	}
	if r.Workspace == uuid.Nil || r.Run == uuid.Nil || r.Attempt < 0 {
		return Run{}, fmt.Errorf("decode the payload of a run task: a workspace, a run or an attempt is missing")
	}
	return r, nil
}
