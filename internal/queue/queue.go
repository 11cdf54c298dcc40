package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// Asynq is the queue in Redis. It is safe for concurrent use and holds no
// connection of its own: the client stays the caller's to close.
type Asynq struct {
	redis     redis.UniversalClient
	inspector *asynq.Inspector
}

var _ Enqueuer = (*Asynq)(nil)

// NewAsynq makes the enqueuing side of the queue over a shared Redis client.
func NewAsynq(client redis.UniversalClient) *Asynq {
	return &Asynq{redis: client, inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Enqueue puts t into the queue unless its id waits or runs there already. A
// task of that id which the queue gave up is put in again.
func (a *Asynq) Enqueue(ctx context.Context, t Task) error {
	err := a.put(ctx, t)
	if !errors.Is(err, asynq.ErrTaskIDConflict) {
		return err
	}
	switch info, infoErr := a.inspector.GetTaskInfo(in(t), t.ID()); {
	case gone(infoErr):
	case infoErr != nil:
		return fmt.Errorf("look up the task %s: %w", t.ID(), infoErr)
	case info.State != asynq.TaskStateArchived && info.State != asynq.TaskStateCompleted:
		return nil
	default:
		if err := a.inspector.DeleteTask(in(t), t.ID()); err != nil && !gone(err) {
			return fmt.Errorf("clear the task %s that was given up: %w", t.ID(), err)
		}
	}
	if err := a.put(ctx, t); err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return err
	}
	return nil
}

func (a *Asynq) put(ctx context.Context, t Task) error {
	payload, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode the task %s: %w", t.ID(), err)
	}
	o := t.Options()
	options := []asynq.Option{asynq.Queue(in(t)), asynq.TaskID(t.ID()), asynq.MaxRetry(o.MaxRetry), asynq.Timeout(o.Timeout)}
	delay := o.Delay
	if delay >= time.Second {
		// The queue cuts times to seconds, which would deliver too early.
		delay += time.Second - time.Nanosecond
	}
	if delay > 0 {
		options = append(options, asynq.ProcessIn(delay))
	}
	// A client remembers that it has registered its queue in Redis, and after a
	// flush would never do it again; a new one costs nothing.
	client := asynq.NewClientFromRedisClient(a.redis)
	if _, err := client.EnqueueContext(ctx, asynq.NewTask(t.Name(), payload), options...); err != nil {
		return fmt.Errorf("enqueue the task %s: %w", t.ID(), err)
	}
	return nil
}

// Waiting reports whether t is in the queue and will be delivered without
// further help: at once, at its time, or as a repetition. A task that is being
// worked on is not waiting.
func (a *Asynq) Waiting(_ context.Context, t Task) (bool, error) {
	info, err := a.inspector.GetTaskInfo(in(t), t.ID())
	switch {
	case gone(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up the task %s: %w", t.ID(), err)
	}
	switch info.State {
	case asynq.TaskStatePending, asynq.TaskStateScheduled, asynq.TaskStateRetry:
		return true, nil
	default:
		return false, nil
	}
}

// Due is the view of the queue on tasks whose time has come by the database. A
// task for which the queue has a later time does not wait there: it was put in by
// a process whose clock is ahead, and that may have died since.
func (a *Asynq) Due() Due { return Due{a} }

// Due is what [Asynq.Due] returns.
type Due struct{ queue *Asynq }

// Waiting reports whether t will be delivered soon without further help.
func (d Due) Waiting(ctx context.Context, t Task) (bool, error) {
	waiting, err := d.queue.Waiting(ctx, t)
	if err != nil || !waiting {
		return false, err
	}
	info, err := d.queue.inspector.GetTaskInfo(in(t), t.ID())
	switch {
	case gone(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up the task %s: %w", t.ID(), err)
	case info.State == asynq.TaskStateScheduled:
		// The queue goes by the clocks of the processes.
		return info.NextProcessAt.Before(time.Now().Add(soon)), nil
	default:
		return true, nil
	}
}

// soon is how far ahead of now the queue may have a task that counts as due.
const soon = 10 * time.Second

func gone(err error) bool {
	return errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound)
}
