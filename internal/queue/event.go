package queue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// EventName is the type of [Event] tasks.
const EventName = "event"

// An Event asks for the processing of an event of an inbound integration.
type Event struct {
	Workspace uuid.UUID `json:"workspace_id"`
	Event     uuid.UUID `json:"event_id"`
	// Attempt is the number of earlier attempts. A worker that claims the event raises
	// it, so that a second delivery of the task has no effect.
	Attempt int `json:"attempt"`
}

var _ Task = Event{}

// Name returns [EventName].
func (Event) Name() string { return EventName }

// ID returns "event:<event>:<attempt>".
func (e Event) ID() string { return fmt.Sprintf("%s:%s:%d", EventName, e.Event, e.Attempt) }

// Options returns the options of an event. Its retries are rows in PostgreSQL; the queue
// retries only failures before the event was claimed.
func (e Event) Options() Options {
	return Options{MaxRetry: 3, Timeout: 5 * time.Minute, Queue: Upkeep}
}

// DecodeEvent decodes the payload of a task of type [EventName].
func DecodeEvent(payload []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(payload, &e); err != nil {
		return Event{}, fmt.Errorf("decode the payload of an event task: %w", err)
	}
	if e.Workspace == uuid.Nil || e.Event == uuid.Nil || e.Attempt < 0 {
		return Event{}, fmt.Errorf("decode the payload of an event task: a workspace, an event or an attempt is missing")
	}
	return e, nil
}
