package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// The names of the queues that all workers take from: Queue holds places of
// syncs, Upkeep what must not wait behind them, nor they behind it.
const (
	Queue  = "magpie"
	Upkeep = "magpie-upkeep"
)

// SyncName is the type of [Sync] tasks.
const SyncName = "sync"

// Names lists the types of all tasks.
func Names() []string { return []string{PurgeName, ReembedName, SyncName} }

// Task is one piece of work for a worker.
type Task interface {
	// Name is the task's type.
	Name() string
	// ID is the same for tasks that would do the same work: the queue holds an
	// id once.
	ID() string
	// Options say how the queue treats the task.
	Options() Options
}

// Options say how the queue treats a task.
type Options struct {
	MaxRetry int           // times the queue delivers it again after an error
	Timeout  time.Duration // after which its context ends
	Delay    time.Duration // before it is delivered first
	Queue    string        // [Queue] when empty
}

// in is the queue of a task.
func in(t Task) string {
	if queue := t.Options().Queue; queue != "" {
		return queue
	}
	return Queue
}

// Enqueuer puts tasks into the queue. A task whose id is in the queue already
// is no error.
type Enqueuer interface {
	Enqueue(ctx context.Context, t Task) error
}

// Sync asks for the next slice of a sync job.
type Sync struct {
	JobID uuid.UUID `json:"job_id"`
	// Attempt is the one that the job's row names. A worker that takes the job
	// raises it, so that a second delivery of the task does nothing.
	Attempt int `json:"attempt"`
	// Delay is how long to wait before the delivery; it is no part of the payload.
	Delay time.Duration `json:"-"`
}

var _ Task = Sync{}

// Name is [SyncName].
func (Sync) Name() string { return SyncName }

// ID is "sync:<job>:<attempt>".
func (s Sync) ID() string { return fmt.Sprintf("%s:%s:%d", SyncName, s.JobID, s.Attempt) }

// Options of a sync. The queue repeats only what failed before the job was
// taken (the database was away); what fails later has a new attempt. A slice
// that hangs ends with the timeout and is taken up by the next attempt.
func (s Sync) Options() Options {
	return Options{MaxRetry: 20, Timeout: 15 * time.Minute, Delay: s.Delay}
}

// DecodeSync reads the payload of a task of the type [SyncName].
func DecodeSync(payload []byte) (Sync, error) {
	var s Sync
	if err := json.Unmarshal(payload, &s); err != nil {
		return Sync{}, fmt.Errorf("decode the payload of a sync task: %w", err)
	}
	if s.JobID == uuid.Nil || s.Attempt < 0 {
		return Sync{}, fmt.Errorf("decode the payload of a sync task: it names no job or no attempt")
	}
	return s, nil
}
