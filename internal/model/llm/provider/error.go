package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// A Kind is the kind of an Error.
type Kind string

// The kinds of errors.
const (
	KindAuth          Kind = "auth"           // the key is missing, wrong or has no permission
	KindContextLength Kind = "context length" // the request is too long for the model
	KindRateLimited   Kind = "rate limited"   // too many requests, or the quota is used up
	KindUnavailable   Kind = "unavailable"    // the service failed or cannot be reached
	KindTimeout       Kind = "timeout"        // the service took too long
	KindInterrupted   Kind = "interrupted"    // the answer is incomplete
	KindRefused       Kind = "refused"        // the service refused to answer this request
	KindInvalid       Kind = "invalid"        // the request or the response is invalid
	KindNoTools       Kind = "no tools"       // the model cannot call tools
)

// An Error is a failed request to a model service. Its text contains the shortened message of the service, but never the
// key.
type Error struct {
	Kind Kind
	// Op is the operation, such as "chat".
	Op string
	// Status is the HTTP status, 0 when there was no response.
	Status int
	// Message is the message of the service or the transport.
	Message string
	// Advice is a sentence for people that says what to do, without anything of the request, the response or an address; ""
	// for none.
	Advice string
	// After is the delay that the service asked for, or 0.
	After time.Duration
	// PromptTokens and CompletionTokens are the usage that the service reported for the failed request.
	PromptTokens, CompletionTokens int
	cause                          error
}

// Error implements error.
func (e *Error) Error() string {
	text := e.Op + ": " + string(e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns the error of the context if the context ended the request. It hides other causes, because their texts may
// contain secrets.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if e.cause != nil {
		return false // canceled by the caller
	}
	switch e.Kind {
	case KindRateLimited, KindUnavailable, KindTimeout, KindInterrupted:
		return true
	case KindAuth, KindContextLength, KindRefused, KindInvalid, KindNoTools:
	}
	return false
}

// RetryAfter returns the delay that the service asked for, or 0.
func (e *Error) RetryAfter() time.Duration { return e.After }

// IsKind reports whether err is an Error of the kind.
func IsKind(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// IsOutage reports whether err means that the service does not work, so that any other request would fail too.
func IsOutage(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case KindAuth, KindRateLimited, KindUnavailable, KindTimeout, KindInterrupted:
		return true
	case KindContextLength, KindRefused, KindInvalid, KindNoTools:
	}
	return false
}

// Classify returns the Error of an error of the client library. ctx is the context of the request, note what the transport
// recorded, and key the secret that must not appear in the text.
func Classify(ctx context.Context, op string, err error, note *Note, key string) error {
	var already *Error
	if errors.As(err, &already) {
		return already
	}
	if deadline, ok := ctx.Deadline(); ok && isTimeout(err) && !time.Now().Before(deadline) {
		<-ctx.Done() // a connection has the same deadline, and a timer of its own that may be earlier
	}
	e := &Error{Op: op, After: note.after()}
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.As(err, &api):
		e.Status, e.Message = api.HTTPStatusCode, api.Message
		e.Kind = kindOf(e.Status, fmt.Sprint(api.Code)+" "+api.Type+" "+api.Message)
	case errors.As(err, &request):
		e.Status, e.Message = request.HTTPStatusCode, http.StatusText(request.HTTPStatusCode)
		e.Kind = kindOf(e.Status, string(request.Body))
		if _, said := refusalText(request.Body); said != "" {
			e.Message = said
		}
	case ctx.Err() != nil:
		e.Kind, e.cause = KindInterrupted, ctx.Err()
		var cause *Error
		if errors.As(context.Cause(ctx), &cause) {
			return cause // a timeout of the client
		}
		e.Message = "the request was given up"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Kind, e.Message = KindInterrupted, "the connection was cut"
	case isTimeout(err):
		e.Kind, e.Message = KindTimeout, "no answer in time"
	case note.responded():
		e.Kind, e.Message = KindInvalid, "the service sent a response that cannot be read: "+err.Error()
	default:
		e.Kind, e.Message = KindUnavailable, "the service cannot be reached: "+err.Error()
	}
	e.Message = Redact(e.Message, key)
	return e
}

// FromResponse returns the Error of a failure that a service reports. status is the HTTP status, or 0 within an answer,
// and names are the service's names of the failure.
func FromResponse(op string, status int, names, message string, note *Note, key string) error {
	return &Error{
		Kind: kindOf(status, names+" "+message), Op: op, Status: status, Message: Redact(message, key), After: note.after(),
	}
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

func kindOf(status int, said string) Kind {
	said = strings.ToLower(said)
	switch {
	case strings.Contains(said, "context_length") || strings.Contains(said, "context length") || strings.Contains(said, "maximum context") ||
		strings.Contains(said, "too many tokens") || strings.Contains(said, "too many input tokens") || strings.Contains(said, "prompt is too long") || strings.Contains(said, "context limit") ||
		strings.Contains(said, "request_too_large") || status == http.StatusRequestEntityTooLarge:
		return KindContextLength
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired,
		strings.Contains(said, "authentication_error"), strings.Contains(said, "permission_error"), strings.Contains(said, "billing_error"):
		return KindAuth
	case status == http.StatusTooManyRequests, strings.Contains(said, "rate_limit"):
		return KindRateLimited
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return KindTimeout
	case status >= 500, status == http.StatusConflict, strings.Contains(said, "server_error"), strings.Contains(said, "overloaded"):
		return KindUnavailable
	case strings.Contains(said, "content_filter"), strings.Contains(said, "content_policy"):
		return KindRefused
	case status == 0 && (strings.Contains(said, "invalid_request") || strings.Contains(said, "not_found_error")):
		return KindInvalid
	case status == 0:
		return KindUnavailable
	}
	return KindInvalid
}

// Redact shortens a message and replaces the key and texts that look like keys.
func Redact(message, key string) string {
	if len(key) >= 4 {
		message = strings.ReplaceAll(message, key, "[key]")
	}
	words := strings.Fields(message)
	for i, word := range words {
		bare := strings.Trim(word, `"'.,;:()`)
		if strings.HasPrefix(bare, "sk-") || strings.Contains(bare, "***") {
			words[i] = "[key]"
		}
	}
	message = strings.Join(words, " ")
	if runes := []rune(message); len(runes) > 300 {
		message = string(runes[:300]) + "…"
	}
	return message
}

// FromStream returns the Error of a failure that a service reports within an answer.
func FromStream(op string, code any, kind, message, key string) error {
	status := 0
	if number, ok := code.(float64); ok && number >= 400 && number < 600 {
		status = int(number)
	}
	return &Error{Kind: kindOf(status, fmt.Sprint(code)+" "+kind+" "+message), Op: op, Status: status, Message: Redact(message, key)}
}
