package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
)

const maxMessage = 300 // characters of a platform's own message

// explain returns the error of a request for a model and a person.
func (api API) explain(ctx context.Context, r Request, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		return e
	}
	out := &apierr.Error{Code: apierr.Unavailable, Cause: err}
	if failure, ok := errors.AsType[*restapi.StatusError](err); ok {
		out.RetryAfter, _ = connectors.RetryAfterOf(err)
		out.Code, out.Message = api.statusWords(failure, out.RetryAfter)
		if failure.Status >= http.StatusInternalServerError || failure.Status == http.StatusRequestTimeout {
			r.markUnknown(ctx, out)
		}
		return out
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		out.Code, out.RetryAfter, out.Message = refusal.Code, refusal.RetryAfter, api.Name+" "+refusal.words()
		if refusal.Code == apierr.Unavailable {
			r.markUnknown(ctx, out)
		}
		return out
	}
	_, retryable := connectors.RetryAfterOf(err)
	switch {
	case errors.Is(err, restapi.ErrRedirected):
		out.Message = api.Name + " answered with a redirect to another host, which is not followed; " + api.advice()
	case errors.Is(err, restapi.ErrTooLarge):
		out.Message = fmt.Sprintf("The answer of %s is larger than %d MiB; ask for less.", api.Name, MaxBytes>>20)
	case errors.Is(context.Cause(ctx), errSlow):
		out.Message = fmt.Sprintf("%s did not answer within %d seconds.", api.Name, int(Timeout.Seconds()))
	case ctx.Err() != nil:
		out.Message = "The request to " + api.Name + " was stopped before it was answered."
	case connectors.IsNeedsAuth(err):
		out.Code, out.Message = apierr.Unauthorized, sentence(err.Error())
	case connectors.IsFatal(err):
		out.Code, out.Message = apierr.InvalidRequest, sentence(err.Error())
	case retryable && !isDial(err):
		out.Message = sentence(err.Error())
	case retryable:
		out.Message = api.Name + " cannot be reached; " + api.advice()
	default:
		out.Code, out.Message = apierr.Internal, "The request to "+api.Name+" could not be made."
	}
	if retryable && !isDial(err) || errors.Is(err, restapi.ErrTooLarge) || errors.Is(err, restapi.ErrRedirected) || ctx.Err() != nil {
		r.markUnknown(ctx, out)
	}
	return out
}

func (api API) advice() string {
	if api.Advice == "" {
		return "try again later."
	}
	return "check " + api.Advice + "."
}

// isDial reports whether a request failed before it was sent.
func isDial(err error) bool {
	failure, ok := errors.AsType[*net.OpError](err)
	return ok && failure.Op == "dial"
}

// markUnknown says that a change may have been made.
func (r Request) markUnknown(ctx context.Context, out *apierr.Error) {
	if r.Reads || r.Method == "" || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return
	}
	out.Cause = errors.Join(integration.ErrUnknownOutcome, out.Cause)
	out.Message += " The change may have been made"
	if marker := integration.Marker(ctx); marker != "" {
		out.Message += "; look for " + marker
	}
	out.Message += "."
}

// statusWords returns the code and the message of a status.
func (api API) statusWords(failure *restapi.StatusError, after time.Duration) (apierr.Code, string) {
	words := func(text string) string {
		out := fmt.Sprintf("%s %s (%d)", api.Name, text, failure.Status)
		if message := strings.TrimRight(errorMessage(failure.Body), " ."); message != "" {
			out += ": " + message
		}
		return out + "."
	}
	limited := strings.Contains(failure.Error(), " asks to wait ")
	switch status := failure.Status; {
	case limited:
		return apierr.RateLimited, words("allows no more requests now; try again " + inTime(after))
	case status == http.StatusUnauthorized:
		return apierr.Unauthorized, words("does not accept the credentials; a person must renew them in the settings of the integration")
	case status == http.StatusForbidden:
		return apierr.Forbidden, words("does not allow this with the rights of these credentials")
	case status == http.StatusNotFound, status == http.StatusGone:
		return apierr.CodeNotFound, words("does not have this, or the credentials may not see it")
	case status == http.StatusConflict, status == http.StatusPreconditionFailed, status == http.StatusLocked:
		return apierr.Conflict, words("has it in another state by now; read it again before you change it")
	case status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return apierr.Unavailable, words("cannot answer now")
	default:
		return apierr.InvalidRequest, words("refuses the request")
	}
}

func inTime(after time.Duration) string {
	if after <= 0 {
		return "later"
	}
	return fmt.Sprintf("in %d seconds", int(after.Round(time.Second).Seconds()))
}

// sentence returns the text of an error as a sentence.
func sentence(text string) string {
	text = safetext.Line(safetext.Truncate(text, 2*maxMessage))
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimRight(text[1:], ".") + "."
}

// A Refusal is the failure that a successful response tells of.
type Refusal struct {
	Code       apierr.Code
	Message    string // of the platform
	RetryAfter time.Duration
}

// Error implements error.
func (r *Refusal) Error() string { return "the platform " + r.words() }

func (r *Refusal) words() string {
	message := safetext.Line(safetext.Truncate(r.Message, maxMessage))
	switch r.Code {
	case apierr.Unauthorized:
		return "does not accept the credentials; a person must renew them in the settings of the integration: " + message + "."
	case apierr.Forbidden:
		return "does not allow this with the rights of these credentials: " + message + "."
	case apierr.CodeNotFound:
		return "does not have this, or the credentials may not see it: " + message + "."
	case apierr.RateLimited:
		return "allows no more requests now; try again " + inTime(r.RetryAfter) + ": " + message + "."
	case apierr.Unavailable:
		return "cannot answer now: " + message + "."
	default:
		return "refuses the request: " + message + "."
	}
}

// Refuse returns the error of a response that says that the request failed. An
// Unauthorized one is marked as [connectors.NeedsAuth].
func Refuse(code apierr.Code, message string) error {
	refusal := &Refusal{Code: code, Message: message}
	if code == apierr.Unauthorized {
		return connectors.NeedsAuth(refusal)
	}
	return refusal
}

// Refused returns the error of an answer that a tool itself found to be a refusal.
func (api API) Refused(code apierr.Code, message string) error {
	refusal := &Refusal{Code: code, Message: message}
	return &apierr.Error{Code: code, Message: api.Name + " " + refusal.words(), Cause: Refuse(code, message)}
}

// errorMessage returns the platform's message for people in the body of an
// unsuccessful response: the texts under the names that platforms use for it.
func errorMessage(body []byte) string {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return ""
	}
	var found []string
	collect(value, 0, &found)
	return safetext.Line(safetext.Truncate(strings.Join(found, "; "), maxMessage))
}

const (
	maxMessages     = 4
	maxMessageDepth = 5
)

func collect(value any, depth int, found *[]string) {
	if depth > maxMessageDepth || len(*found) >= maxMessages {
		return
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if text, ok := item.(string); ok {
				add(found, text)
			} else {
				collect(item, depth+1, found)
			}
		}
	case map[string]any:
		for _, name := range []string{"message", "error_message", "error", "error_description", "errorMessages", "errors", "detail", "details", "description", "title", "reason"} {
			if text, ok := value[name].(string); ok {
				add(found, text)
			} else {
				collect(value[name], depth+1, found)
			}
		}
		if depth > 0 && len(*found) == 0 && len(value) <= maxMessages { // an object of fields and what is wrong with them
			for field, problem := range value {
				if text, ok := problem.(string); ok {
					add(found, field+": "+text)
				}
			}
		}
	}
}

func add(found *[]string, text string) {
	for _, other := range *found {
		if strings.Contains(other, text) {
			return
		}
	}
	*found = append(*found, text)
}
