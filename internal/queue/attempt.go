package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"
)

// Explain returns err with a sentence for people, which [Asynq.Attempt] returns after
// a handler has failed with it. The queue itself keeps only the text of an error.
func Explain(err error, sentence string) error { return explained{cause: err, sentence: sentence} }

type explained struct {
	cause    error
	sentence string
}

const (
	explanation = "explanation: "
	causedBy    = "; cause: "
)

func (e explained) Error() string { return explanation + e.sentence + causedBy + e.cause.Error() }
func (e explained) Unwrap() error { return e.cause }

// An Attempt is the state of a task that the queue holds.
type Attempt struct {
	Running bool
	// FailedAt is the time of the last failure; zero for none.
	FailedAt time.Time
	// Reason is the sentence of [Explain]; empty without one, because other errors are
	// not for people.
	Reason string
}

// Attempt returns the state of t; zero when the queue does not hold it.
func (a *Asynq) Attempt(_ context.Context, t Task) (Attempt, error) {
	info, err := a.inspector.GetTaskInfo(queueOf(t), t.ID())
	switch {
	case isMissing(err):
		return Attempt{}, nil
	case err != nil:
		return Attempt{}, fmt.Errorf("look up the task %s: %w", t.ID(), err)
	}
	attempt := Attempt{Running: info.State == asynq.TaskStateActive}
	if info.LastErr != "" {
		attempt.FailedAt = info.LastFailedAt.UTC()
		if _, after, ok := strings.Cut(info.LastErr, explanation); ok {
			attempt.Reason, _, _ = strings.Cut(after, causedBy)
		}
	}
	return attempt, nil
}
