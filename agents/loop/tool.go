package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/search"
)

// The names of the tools that the planner without a model uses.
const (
	SearchTool    = "search_documents"
	CalculateTool = "calculate"
	ClockTool     = "get_current_datetime"
)

// Tool is a function that an agent may call.
type Tool struct {
	Name, Description string
	// Schema is the JSON schema of the arguments, which are an object.
	Schema json.RawMessage
	// Timeout bounds a call. Zero means Limits.ToolTimeout; more than
	// Limits.LongestTool means that.
	Timeout time.Duration
	// Call runs the tool. The arguments are a JSON object and otherwise not
	// validated. The model and people see the message of an *apierr.Error;
	// other errors are logged. Call must return when its context ends.
	Call func(ctx context.Context, arguments json.RawMessage) (Result, error)

	// PolicyName is the name in policies, approvals and grants, such as
	// jira.create_issue; empty means Name, which providers limit to fewer characters.
	PolicyName string
	// Risk is what a call can do; empty means policy.Read.
	Risk policy.Risk
	// Policy returns the policy of a call. Nil means the default of Risk.
	Policy func(arguments json.RawMessage) policy.Policy
	// Preview describes a call to the person who decides about it, without making
	// the call. An *apierr.Error means that the arguments cannot be used: the model
	// is told and nobody is asked. Nil shows the arguments.
	Preview func(ctx context.Context, arguments json.RawMessage) (Preview, error)
	// Question makes every call wait for a person's answer, which is its result:
	// Call is not used. An *apierr.Error means that the arguments cannot be used.
	Question func(arguments json.RawMessage) (Question, error)
	// Idempotent reports that a call with the same [CallInfo.Key] takes effect
	// once, so that it may be repeated after a crash.
	Idempotent bool
}

// Preview is the text of an approval.
type Preview struct {
	Title string // one line, such as "Send mail to ada@example.com"
	Text  string // Markdown
}

// CallInfo identifies a call to its tool.
type CallInfo struct {
	ID string // unique within the run
	// Key is unique in the workspace and the same when the call is repeated after
	// a crash. Tools pass it to platforms as the idempotency key.
	Key string
	// InRun says that a run makes the call: it shows an [AuthRequiredError] to its person.
	InRun bool
}

type callInfoKey struct{}

// CallInfoFrom returns the call that a tool's context belongs to.
func CallInfoFrom(ctx context.Context) CallInfo {
	info, _ := ctx.Value(callInfoKey{}).(CallInfo)
	return info
}

// WithCallInfo returns a context for a call of a tool outside of a run.
func WithCallInfo(ctx context.Context, info CallInfo) context.Context {
	return context.WithValue(ctx, callInfoKey{}, info)
}

// policyName returns the name of the tool in policies.
func (t *Tool) policyName() string { return cmp.Or(t.PolicyName, t.Name) }

// policyOf returns the policy of a call.
func (t *Tool) policyOf(arguments json.RawMessage) policy.Policy {
	if t.Policy == nil {
		return t.Risk.Default()
	}
	return policy.Strictest(t.Policy(arguments), policy.Allow)
}

// Result is the result of a tool call.
type Result struct {
	// Text is for the model.
	Text string
	// Summary describes the result in a few words for people.
	Summary string
	// Hits are the passages that a search found, best first.
	Hits []search.Hit
}

// ErrUnknownOutcome reports that it is not known whether a call took effect. Errors
// of tools wrap it.
var ErrUnknownOutcome = errors.New("the outcome of the call is not known")

// AuthRequiredError is the error of a call whose account must be connected first. The
// run reports it as an [AuthRequired].
type AuthRequiredError struct {
	Integration uuid.UUID
	Name        string
	// URL is as in AuthRequired. Neither the text of the error nor a message has it.
	URL string
	Err error // what the model and people see
}

// Error implements error.
func (e *AuthRequiredError) Error() string { return e.Err.Error() }

// Unwrap returns the error for the model.
func (e *AuthRequiredError) Unwrap() error { return e.Err }

// The causes of failed calls.
var (
	errToolTimeout = errors.New("the tool took too long")
	errToolPanic   = errors.New("the tool panicked")
)

// invoke makes one call in a goroutine of its own. A tool that ignores the end
// of its context is left running; Close waits for it.
func (l *Loop) invoke(ctx context.Context, tool *Tool, arguments json.RawMessage, limit time.Duration) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errToolTimeout)
	defer cancel()
	type outcome struct {
		result Result
		err    error
	}
	done := make(chan outcome, 1)
	l.calls.Go(func() {
		var o outcome
		defer func() {
			if cause := recover(); cause != nil {
				o = outcome{err: fmt.Errorf("%w: %v\n%s", errToolPanic, cause, debug.Stack())}
			}
			done <- o
		}()
		o.result, o.err = tool.Call(ctx, arguments)
	})
	select {
	case o := <-done:
		if o.err != nil && ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		return o.result, o.err
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
}

// failureMessage returns what the model and people see of a failed call.
func (l *Loop) failureMessage(ctx context.Context, tool string, err error) string {
	if errors.Is(err, errToolTimeout) {
		return "The tool took too long and was stopped."
	}
	if e := apierr.From(err); e.Code != apierr.Internal {
		return e.Message
	}
	l.opt.Log.ErrorContext(ctx, "agent tool failed", slog.String("tool", tool), slog.Any("error", err))
	return "The tool failed."
}

// parseArguments parses the arguments that a model wrote. Its failure is for
// the model.
func parseArguments(call llm.ToolCall) (raw json.RawMessage, params map[string]any, failure string) {
	text := strings.TrimSpace(call.Arguments)
	if text == "" || text == "null" {
		text = "{}" // how some models call without arguments
	}
	if !utf8.ValidString(text) {
		return nil, nil, "The arguments are not valid UTF-8."
	}
	if err := json.Unmarshal([]byte(text), &params); err != nil {
		// Some models wrap the object into a string.
		var inner string
		if json.Unmarshal([]byte(text), &inner) != nil || json.Unmarshal([]byte(inner), &params) != nil || params == nil {
			return nil, nil, "The arguments are no JSON object: " + safetext.Truncate(err.Error(), 200)
		}
		text = inner
	}
	if problem := check.Unstorable(params); problem != "" {
		return nil, nil, "The arguments " + problem + "."
	}
	return json.RawMessage(text), params, ""
}

// truncateResult cuts a result to limit characters and says so at its end.
func truncateResult(text string, limit int) string {
	size := len(text)
	if longest := (limit + 1) * utf8.UTFMax; size > longest {
		text = text[:longest] // enough for limit characters
	}
	text = safetext.Storable(text)
	if len(text) <= limit {
		return text
	}
	runes, end := 0, len(text)
	for i := range text {
		if runes == limit {
			end = i
			break
		}
		runes++
	}
	if end == len(text) {
		return text
	}
	return text[:end] + fmt.Sprintf("\n[cut here: these are the first %d of %d bytes]", end, size)
}
