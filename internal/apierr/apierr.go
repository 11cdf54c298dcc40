package apierr

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code names the kind of an error. Clients see it in error.code and in GraphQL's
// extensions.code.
type Code string

// The codes of the interface.
const (
	InvalidRequest       Code = "invalid_request"
	Unauthorized         Code = "unauthorized"
	InvalidCredentials   Code = "invalid_credentials" //nolint:gosec // a code, no credential
	InvalidKey           Code = "invalid_key"
	KeyExpired           Code = "key_expired"
	InvalidSignature     Code = "invalid_signature"
	QuotaExceeded        Code = "quota_exceeded"
	Forbidden            Code = "forbidden"
	CodeNotFound         Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	Conflict             Code = "conflict"
	TooLarge             Code = "too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	RateLimited          Code = "rate_limited"
	Unavailable          Code = "unavailable"
	Internal             Code = "internal"
)

// Status returns the HTTP status of c; 500 for an unknown code.
func (c Code) Status() int {
	switch c {
	case InvalidRequest:
		return http.StatusBadRequest
	case Unauthorized, InvalidCredentials, InvalidKey, KeyExpired, InvalidSignature:
		return http.StatusUnauthorized
	case QuotaExceeded:
		return http.StatusPaymentRequired
	case Forbidden:
		return http.StatusForbidden
	case CodeNotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case Conflict:
		return http.StatusConflict
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case UnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case RateLimited:
		return http.StatusTooManyRequests
	case Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// An Error is an error that may leave the process. Clients see Message. Op and
// Cause are for the log.
type Error struct {
	Code       Code
	Message    string
	Field      string        // the invalid input, with InvalidRequest
	RetryAfter time.Duration // when to try again, with RateLimited and Unavailable
	Op         string
	Cause      error
}

// SetRetryAfter sets the header Retry-After, in seconds rounded up, if the error has one.
func (e *Error) SetRetryAfter(h http.Header) {
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
}

// Error returns the message with Op and Cause, for the log.
func (e *Error) Error() string {
	s := e.Message
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error with a message that is safe to show.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Invalid returns an InvalidRequest error for an input. The message begins with the
// name of the field.
func Invalid(field, message string) *Error {
	return &Error{Code: InvalidRequest, Field: field, Message: field + ": " + message}
}

// NotFound returns the error for a row that does not exist, or that the caller may
// not see.
func NotFound(what string) *Error {
	return &Error{Code: CodeNotFound, Message: what + " not found"}
}

// Wrap adds an operation to an error. It keeps the code and message of an *Error
// inside err; every other error becomes an internal error. Wrap returns nil for
// nil.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := *From(err)
	if e.Op == "" {
		e.Op = op
	} else {
		e.Op = op + ": " + e.Op
	}
	return &e
}

// From returns the *Error inside err. An ended context, and a database or queue
// that cannot be reached, become Unavailable; every other error becomes Internal,
// with a message that reveals nothing.
func From(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Unavailable, Message: "The request was not finished in time; try again.", Cause: err}
	case unreachable(err):
		return &Error{Code: Unavailable, Message: "A part of the service cannot be reached just now; try again.", RetryAfter: unreachableRetryAfter, Cause: err}
	case isReadOnly(err):
		return &Error{Code: Unavailable, Message: "Nothing can be changed just now; try again.", RetryAfter: unreachableRetryAfter, Cause: err}
	default:
		return &Error{Code: Internal, Message: "Something went wrong on our side; the log has the details under this request's id.", Cause: err}
	}
}

// unreachableRetryAfter is when a client may repeat a request that failed because a
// server could not be reached.
const unreachableRetryAfter = 5 * time.Second

// isReadOnly reports whether err is the refusal of a database that takes no writes.
func isReadOnly(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "25006"
}

// unreachable reports whether err comes from a database or queue that cannot be
// reached, starts, or stops.
func unreachable(err error) bool {
	var network net.Error
	if errors.As(err, &network) {
		return true
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch code := state.SQLState(); code {
		case "57P01", "57P02", "57P03", "53300": // shutting down, crashed, starting up, too many connections
			return true
		default:
			return strings.HasPrefix(code, "08") // connection exceptions
		}
	}
	var retry interface{ SafeToRetry() bool }
	return errors.As(err, &retry) && retry.SafeToRetry()
}
