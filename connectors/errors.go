package connectors

import (
	"errors"
	"time"
)

// Retryable says that the same call may succeed later. after is how long the
// source asks to wait, 0 when it does not say. A nil err stays nil.
func Retryable(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryableError{err: err, after: max(after, 0)}
}

// NeedsAuth says that nothing will work until a person repairs the credentials
// or the rights behind them. A nil err stays nil.
func NeedsAuth(err error) error {
	if err == nil {
		return nil
	}
	return &needsAuthError{err: err}
}

// Fatal says that the sync cannot go on and that repeating it unchanged is of
// no use. A nil err stays nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err: err}
}

// Skip says of one item that its content shows it to be no document: it is left
// out, with the text of the error as the reason, until its version changes. A
// nil err stays nil.
func Skip(err error) error {
	if err == nil {
		return nil
	}
	return &skipError{err: err}
}

// IsSkip reports whether an error leaves an item out.
func IsSkip(err error) bool {
	behaviour, ok := errors.AsType[interface {
		error
		Skip() bool
	}](err)
	return ok && behaviour.Skip()
}

// RetryAfterOf reports whether an error is retryable, and how long its source
// asks to wait: 0 means that the caller chooses.
func RetryAfterOf(err error) (time.Duration, bool) {
	if behaviour, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return behaviour.RetryAfter(), true
	}
	return 0, false
}

// IsNeedsAuth reports whether an error asks for new credentials or rights.
func IsNeedsAuth(err error) bool {
	behaviour, ok := errors.AsType[interface {
		error
		NeedsAuth() bool
	}](err)
	return ok && behaviour.NeedsAuth()
}

// IsFatal reports whether an error ends the sync for good.
func IsFatal(err error) bool {
	behaviour, ok := errors.AsType[interface {
		error
		Fatal() bool
	}](err)
	return ok && behaviour.Fatal()
}

type retryableError struct {
	err   error
	after time.Duration
}

func (e *retryableError) Error() string             { return e.err.Error() }
func (e *retryableError) Unwrap() error             { return e.err }
func (e *retryableError) RetryAfter() time.Duration { return e.after }

type needsAuthError struct{ err error }

func (e *needsAuthError) Error() string   { return e.err.Error() }
func (e *needsAuthError) Unwrap() error   { return e.err }
func (e *needsAuthError) NeedsAuth() bool { return true }

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }
func (e *fatalError) Fatal() bool   { return true }

type skipError struct{ err error }

func (e *skipError) Error() string { return e.err.Error() }
func (e *skipError) Unwrap() error { return e.err }
func (e *skipError) Skip() bool    { return true }
