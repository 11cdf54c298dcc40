package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// The queues of all workers. Queue holds the tasks of syncs, Upkeep all others, so
// that neither waits for the other.
const (
	Queue  = "magpie"
	Upkeep = "magpie-upkeep"
)

// SyncName is the type of [Sync] tasks.
const SyncName = "sync"

// Names returns the types of all tasks.
func Names() []string { return []string{RunName, EventName, PurgeName, ReembedName, SyncName} }

// A Task is a piece of work for a worker.
type Task interface {
	// Name returns the type of the task.
	Name() string
	// ID returns the same id for tasks that do the same work. The queue holds an id
	// once.
	ID() string
	// Options returns how the queue treats the task.
	Options() Options
}

// Options are the settings of a task.
type Options struct {
	MaxRetry int           // deliveries after an error
	Timeout  time.Duration // of one delivery
	Delay    time.Duration // before the first delivery
	Queue    string        // [Queue] when empty
}

// queueOf returns the queue of a task.
func queueOf(t Task) string {
	if queue := t.Options().Queue; queue != "" {
		return queue
	}
	return Queue
}

// An Enqueuer puts tasks into the queue. It ignores a task whose id is in the queue.
type Enqueuer interface {
	Enqueue(ctx context.Context, t Task) error
}

// A Sync asks for the next slice of a sync job.
type Sync struct {
	JobID uuid.UUID `json:"job_id"`
	// Attempt is the attempt number of the job. A worker that claims the job raises
	// it, so that a second delivery of the task has no effect.
	Attempt int `json:"attempt"`
	// Delay is the time before the first delivery. It is not part of the payload.
	Delay time.Duration `json:"-"`
}

var _ Task = Sync{}

// Name returns [SyncName].
func (Sync) Name() string { return SyncName }

// ID returns "sync:<job>:<attempt>".
func (s Sync) ID() string { return fmt.Sprintf("%s:%s:%d", SyncName, s.JobID, s.Attempt) }

// Options returns the options of a sync. The queue retries only failures before the
// job was claimed, when the database is unavailable; later failures get a new
// attempt. A slice that hangs ends with the timeout, and the next attempt continues.
func (s Sync) Options() Options {
	return Options{MaxRetry: 20, Timeout: 15 * time.Minute, Delay: s.Delay}
}

// DecodeSync decodes the payload of a task of type [SyncName].
func DecodeSync(payload []byte) (Sync, error) {
	var s Sync
	if err := json.Unmarshal(payload, &s); err != nil {
		return Sync{}, fmt.Errorf("decode the payload of a sync task: %w", err)
	}
	if s.JobID == uuid.Nil || s.Attempt < 0 {
		return Sync{}, fmt.Errorf("decode the payload of a sync task: a job or an attempt is missing")
	}
	return s, nil
}
