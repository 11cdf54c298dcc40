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

// Kind says what went wrong with a request to a model service.
type Kind string

// The kinds of errors.
const (
	KindAuth          Kind = "auth"           // the key is missing, wrong or not allowed to do this
	KindContextLength Kind = "context length" // the request is longer than the model takes
	KindRateLimited   Kind = "rate limited"   // too many requests, or the quota is used up
	KindUnavailable   Kind = "unavailable"    // the service failed or cannot be reached
	KindTimeout       Kind = "timeout"        // the service took too long
	KindInterrupted   Kind = "interrupted"    // the answer broke off
	KindRefused       Kind = "refused"        // the service would not answer this request
	KindInvalid       Kind = "invalid"        // the service did not accept the request or answered nonsense
	KindNoTools       Kind = "no tools"       // the model cannot call tools
)

// Error is a failed request to a model service. Its text holds what the service said, shortened, and never the key.
type Error struct {
	Kind Kind
	// Op is what was being done, such as "chat".
	Op string
	// Status is the HTTP status, 0 when there was no response.
	Status int
	// Message is what the service or the transport said.
	Message string
	// After is how long the service asked to wait, 0 when it did not say.
	After time.Duration
	// PromptTokens and CompletionTokens are what the service reported to have used all the same.
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

// Unwrap returns the context's error when the context ended the request. Other causes are not given away, since their
// texts may hold what must not be logged.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	if e.cause != nil {
		return false // the caller gave up
	}
	switch e.Kind {
	case KindRateLimited, KindUnavailable, KindTimeout, KindInterrupted:
		return true
	case KindAuth, KindContextLength, KindRefused, KindInvalid, KindNoTools:
	}
	return false
}

// RetryAfter returns how long the service asked to wait, 0 when it did not say.
func (e *Error) RetryAfter() time.Duration { return e.After }

// IsKind reports whether err is an Error of the kind.
func IsKind(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// IsOutage reports whether err says that a service does not work: that the next request would fail, too, whatever it is.
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

// Classify turns an error of the client library into an Error. The context is that of the request, note what the
// transport saw, and key what must not appear in the text.
func Classify(ctx context.Context, op string, err error, note *Note, key string) error {
	var already *Error
	if errors.As(err, &already) {
		return err
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
	case ctx.Err() != nil:
		e.Kind, e.cause = KindInterrupted, ctx.Err()
		var cause *Error
		if errors.As(context.Cause(ctx), &cause) {
			return cause // a time limit of the client itself
		}
		e.Message = "the request was given up"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		e.Kind, e.Message = KindInterrupted, "the connection was cut"
	case isTimeout(err):
		e.Kind, e.Message = KindTimeout, "no answer in time"
	case note.responded():
		e.Kind, e.Message = KindInvalid, "the service sent an answer that cannot be read: "+err.Error()
	default:
		e.Kind, e.Message = KindUnavailable, "the service cannot be reached: "+err.Error()
	}
	e.Message = Redact(e.Message, key)
	return e
}

// FromResponse makes the Error of a failure that a service told of in words of its own: the HTTP status, 0 for one in the
// middle of an answer, and a message, with the names that the service has for such failures in said.
func FromResponse(op string, status int, said, message string, note *Note, key string) error {
	return &Error{
		Kind: kindOf(status, said+" "+message), Op: op, Status: status, Message: Redact(message, key), After: note.after(),
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
		strings.Contains(said, "too many tokens") || strings.Contains(said, "prompt is too long") || strings.Contains(said, "context limit") ||
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

// Redact shortens a message and takes the key, and what looks like one, out of it.
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

// FromStream makes the Error of a failure that a service tells of in the middle of an answer.
func FromStream(op string, code any, kind, message, key string) error {
	status := 0
	if number, ok := code.(float64); ok && number >= 400 && number < 600 {
		status = int(number)
	}
	return &Error{Kind: kindOf(status, fmt.Sprint(code)+" "+kind+" "+message), Op: op, Status: status, Message: Redact(message, key)}
}
