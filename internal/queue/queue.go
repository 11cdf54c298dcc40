package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/internal/tracing"
)

// Asynq is the queue in Redis. It is safe for concurrent use. It uses the client of
// the caller, who closes it.
type Asynq struct {
	redis     redis.UniversalClient
	inspector *asynq.Inspector
}

var _ Enqueuer = (*Asynq)(nil)

// NewAsynq returns the queue on a shared Redis client.
func NewAsynq(client redis.UniversalClient) *Asynq {
	return &Asynq{redis: client, inspector: asynq.NewInspectorFromRedisClient(client)}
}

// Enqueue puts t into the queue unless its id waits or runs there. An archived task
// with the id is replaced.
func (a *Asynq) Enqueue(ctx context.Context, t Task) error {
	err := a.put(ctx, t)
	if !errors.Is(err, asynq.ErrTaskIDConflict) {
		return err
	}
	switch info, infoErr := a.inspector.GetTaskInfo(queueOf(t), t.ID()); {
	case isMissing(infoErr):
	case infoErr != nil:
		return fmt.Errorf("look up the task %s: %w", t.ID(), infoErr)
	case info.State != asynq.TaskStateArchived && info.State != asynq.TaskStateCompleted:
		return nil
	default:
		if err := a.inspector.DeleteTask(queueOf(t), t.ID()); err != nil && !isMissing(err) {
			return fmt.Errorf("delete the archived task %s: %w", t.ID(), err)
		}
	}
	if err := a.put(ctx, t); err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return err
	}
	return nil
}

func (a *Asynq) put(ctx context.Context, t Task) (err error) {
	ctx, span := tracing.StartKind(ctx, tracing.Producer, "send "+t.Name(), spanAttributes(t, "send")...)
	defer func() {
		if errors.Is(err, asynq.ErrTaskIDConflict) { // it is in the queue
			span.End(nil)
			return
		}
		span.End(err)
	}()
	payload, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode the task %s: %w", t.ID(), err)
	}
	o := t.Options()
	options := []asynq.Option{asynq.Queue(queueOf(t)), asynq.TaskID(t.ID()), asynq.MaxRetry(o.MaxRetry), asynq.Timeout(o.Timeout)}
	delay := o.Delay
	if delay >= time.Second {
		// The queue truncates times to seconds, which would deliver too early.
		delay += time.Second - time.Nanosecond
	}
	if delay > 0 {
		options = append(options, asynq.ProcessIn(delay))
	}
	// A client registers its queue in Redis once. After a flush only a new client,
	// which is cheap, does it again.
	client := asynq.NewClientFromRedisClient(a.redis)
	task := asynq.NewTaskWithHeaders(t.Name(), payload, traceHeaders(ctx))
	if _, err := client.EnqueueContext(ctx, task, options...); err != nil {
		return fmt.Errorf("enqueue the task %s: %w", t.ID(), err)
	}
	return nil
}

// Waiting reports whether the queue will deliver t: at once, at its time, or as a
// retry. A running task does not wait.
func (a *Asynq) Waiting(_ context.Context, t Task) (bool, error) {
	info, err := a.inspector.GetTaskInfo(queueOf(t), t.ID())
	switch {
	case isMissing(err):
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

// Due returns a view of the queue for tasks that are due by the clock of the
// database. A task that the queue holds for a later time does not wait there: its
// process has a clock that is ahead, and may have died since.
func (a *Asynq) Due() Due { return Due{a} }

// Due is the view that [Asynq.Due] returns.
type Due struct{ queue *Asynq }

// Waiting reports whether the queue will deliver t soon.
func (d Due) Waiting(ctx context.Context, t Task) (bool, error) {
	waiting, err := d.queue.Waiting(ctx, t)
	if err != nil || !waiting {
		return false, err
	}
	info, err := d.queue.inspector.GetTaskInfo(queueOf(t), t.ID())
	switch {
	case isMissing(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look up the task %s: %w", t.ID(), err)
	case info.State == asynq.TaskStateScheduled:
		// The queue uses the clocks of the processes.
		return info.NextProcessAt.Before(time.Now().Add(dueMargin)), nil
	default:
		return true, nil
	}
}

// dueMargin is the time from now until which a scheduled task counts as due.
const dueMargin = 10 * time.Second

func isMissing(err error) bool {
	return errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound)
}
