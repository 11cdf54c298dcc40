package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/syncjob"
)

var (
	// errSliceDone ends a slice at its limits.
	errSliceDone = errors.New("the slice is done")
	// errInterrupted ends a slice whose worker stops.
	errInterrupted = errors.New("the worker stops")
)

// isInterruption reports whether err may come from the end of a context.
func isInterruption(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A stopError ends a job with a message for people.
type stopError struct {
	message   string
	needsAuth bool
	canceled  bool // canceled, not failed
	cause     error
}

func (e *stopError) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.message
}

func (e *stopError) Unwrap() error { return e.cause }

// A waitError ends a slice that is retried later. With hinted, the source set the
// delay and the slice does not count as failed.
type waitError struct {
	delay  time.Duration
	hinted bool
	cause  error
}

func (e *waitError) Error() string { return e.cause.Error() }
func (e *waitError) Unwrap() error { return e.cause }

// A sourceError is a failure of the source. Its text is fit for people.
type sourceError struct{ cause error }

func (e *sourceError) Error() string { return e.cause.Error() }
func (e *sourceError) Unwrap() error { return e.cause }

// classify returns an error of a source as a stopError, a waitError or a
// sourceError.
func classify(err error) error {
	after, retryable := connectors.RetryAfterOf(err)
	switch {
	case err == nil:
		return nil
	case connectors.IsNeedsAuth(err):
		return &stopError{message: err.Error(), needsAuth: true, cause: err}
	case connectors.IsFatal(err):
		return &stopError{message: err.Error(), cause: err}
	case retryable:
		return &waitError{delay: after, hinted: after > 0, cause: &sourceError{cause: err}}
	default:
		return &sourceError{cause: err}
	}
}

// messageOf returns the message for people about a job that failed after all
// retries.
func messageOf(err error) string {
	var source *sourceError
	if errors.As(err, &source) {
		return source.Error()
	}
	return apierr.From(err).Message
}

// isLost reports whether another worker has the job or the job was deleted.
func isLost(err error) bool {
	var edge *apierr.Error
	return errors.Is(err, syncjob.ErrLost) || errors.Is(err, index.ErrFenced) ||
		errors.As(err, &edge) && edge.Code == apierr.CodeNotFound
}

// isUnstorable reports whether the database refused the values of a record, so that
// a retry cannot help.
func isUnstorable(err error) bool {
	if errors.Is(err, index.ErrRecord) {
		return true
	}
	state, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok || len(state.SQLState()) != 5 {
		return false
	}
	switch state.SQLState()[:2] {
	case "22", "23", "54": // data exception, constraint violation, program limit exceeded
		return true
	default:
		return false
	}
}

// tooLarge returns the reason of an item whose content exceeds the limit.
func tooLarge(limit int64) string {
	return (&document.LimitError{Detail: fmt.Sprintf("the content is larger than %d MiB", limit>>20)}).Error()
}

// publicText returns the message for people about an error.
func publicText(err error) string {
	var stop *stopError
	if errors.As(err, &stop) {
		return stop.message
	}
	return messageOf(err)
}
