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
	// errSliceOver ends a slice that has done its share.
	errSliceOver = errors.New("the slice is over")
	// errInterrupted ends a slice whose worker has to stop.
	errInterrupted = errors.New("the worker stops")
)

// interrupted reports whether err may be what the end of a context looks like.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// stopError ends a job for good, with a message for people.
type stopError struct {
	message   string
	needsAuth bool
	canceled  bool // the job may not run; it has not failed
	cause     error
}

func (e *stopError) Error() string {
	if e.cause != nil {
		return e.cause.Error()
	}
	return e.message
}

func (e *stopError) Unwrap() error { return e.cause }

// waitError ends a slice that has to be repeated later. With hinted the source
// said when, and it is no failure.
type waitError struct {
	delay  time.Duration
	hinted bool
	cause  error
}

func (e *waitError) Error() string { return e.cause.Error() }
func (e *waitError) Unwrap() error { return e.cause }

// sourceError is a failure of the source, whose text connectors keep fit to be shown.
type sourceError struct{ cause error }

func (e *sourceError) Error() string { return e.cause.Error() }
func (e *sourceError) Unwrap() error { return e.cause }

// classify sorts an error that a source gave: what ends the job becomes a
// stopError, what has to wait a waitError, the rest a sourceError.
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

// messageOf is what people get to read about a job that failed after all
// repetitions.
func messageOf(err error) string {
	var source *sourceError
	if errors.As(err, &source) {
		return source.Error()
	}
	return apierr.From(err).Message
}

// lost reports whether the job is somebody else's now, or gone with its connector.
func lost(err error) bool {
	var edge *apierr.Error
	return errors.Is(err, syncjob.ErrLost) || errors.Is(err, index.ErrFenced) ||
		errors.As(err, &edge) && edge.Code == apierr.CodeNotFound
}

// unstorable reports whether the database refused the values of a record, which
// no repetition will change, and not the moment.
func unstorable(err error) bool {
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

// tooLarge is the reason why an item beyond the limit failed.
func tooLarge(limit int64) string {
	return (&document.LimitError{Detail: fmt.Sprintf("the content is larger than %d MiB", limit>>20)}).Error()
}
