package apierr

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// Code names what went wrong, as clients see it in error.code and in GraphQL's
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

// Status is the HTTP status of c; 500 for a code that is not in the table.
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

// Error is an error that may leave the process. Message is shown to callers;
// Op and Cause are for the log only.
type Error struct {
	Code       Code
	Message    string
	Field      string        // the input that is wrong, with InvalidRequest
	RetryAfter time.Duration // when to come back, with RateLimited and Unavailable
	Op         string
	Cause      error
}

// Error says everything, the cause too: it is text for the log.
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

// New makes an error with a message that is safe to show.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Invalid says that the named input is wrong; the message begins with its name.
func Invalid(field, message string) *Error {
	return &Error{Code: InvalidRequest, Field: field, Message: field + ": " + message}
}

// NotFound says that what was asked for does not exist for this caller: a
// missing row and one of another workspace look the same.
func NotFound(what string) *Error {
	return &Error{Code: CodeNotFound, Message: what + " not found"}
}

// Wrap keeps the code and message of an *Error inside err and makes anything
// else an internal error whose cause stays in the log. Nil stays nil.
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

// From returns the *Error inside err. A context that ended becomes Unavailable
// and everything unknown Internal, with a message that gives nothing away.
func From(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Unavailable, Message: "The request was not finished in time; try again.", Cause: err}
	case away(err):
		return &Error{Code: Unavailable, Message: "A part of the service cannot be reached just now; try again.", RetryAfter: awayRetry, Cause: err}
	case readOnly(err):
		return &Error{Code: Unavailable, Message: "Nothing can be changed just now; try again.", RetryAfter: awayRetry, Cause: err}
	default:
		return &Error{Code: Internal, Message: "Something went wrong on our side; the log has the details under this request's id.", Cause: err}
	}
}

// awayRetry is when a client may come back whose request failed because a part
// of the service was away.
const awayRetry = 5 * time.Second

// readOnly reports errors of a database that only reads at the moment, as a
// standby does while another server takes over.
func readOnly(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "25006"
}

// away reports errors of a database or queue that cannot be reached or is just starting or stopping, by how their drivers
// say it.
func away(err error) bool {
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
