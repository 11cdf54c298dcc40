package connectors

import (
	"errors"
	"time"
)

// Retryable marks an error: the same call may succeed later. after is how long
// the source asks to wait, or 0 if it does not say. Retryable(nil) is nil.
func Retryable(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryableError{err: err, after: max(after, 0)}
}

// NeedsAuth marks an error: no call will succeed until a person repairs the
// credentials or their rights. NeedsAuth(nil) is nil.
func NeedsAuth(err error) error {
	if err == nil {
		return nil
	}
	return &needsAuthError{err: err}
}

// Fatal marks an error: the sync cannot continue, and repeating it unchanged is
// useless. Fatal(nil) is nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err: err}
}

// Skip marks the error of an item whose content is not a document. The item is
// left out, with the text of the error as the reason, until its version changes.
// Skip(nil) is nil.
func Skip(err error) error {
	if err == nil {
		return nil
	}
	return &skipError{err: err}
}

// IsSkip reports whether err was marked by [Skip].
func IsSkip(err error) bool {
	behaviour, ok := errors.AsType[interface {
		error
		Skip() bool
	}](err)
	return ok && behaviour.Skip()
}

// RetryAfterOf reports whether err was marked by [Retryable], and how long the
// source asks to wait. If that is 0, the caller chooses.
func RetryAfterOf(err error) (after time.Duration, retryable bool) {
	if behaviour, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return behaviour.RetryAfter(), true
	}
	return 0, false
}

// IsNeedsAuth reports whether err was marked by [NeedsAuth].
func IsNeedsAuth(err error) bool {
	behaviour, ok := errors.AsType[interface {
		error
		NeedsAuth() bool
	}](err)
	return ok && behaviour.NeedsAuth()
}

// IsFatal reports whether err was marked by [Fatal].
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
