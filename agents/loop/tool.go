package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/search"
)

// The names of the tools that the planner without a model knows.
const (
	SearchTool    = "search_documents"
	CalculateTool = "calculate"
	ClockTool     = "get_current_datetime"
)

// Tool is something that an agent may call.
type Tool struct {
	Name, Description string
	// Schema is the JSON schema of the arguments, of an object.
	Schema json.RawMessage
	// Time bounds a call; 0 takes the run's limit, which a longer one is cut to.
	Time time.Duration
	// Call does it. The arguments are a JSON object, and nothing more is known of them. The message of an *apierr.Error is
	// shown to the model and to people; any other error is logged. It has to stop when its context ends.
	Call func(ctx context.Context, arguments json.RawMessage) (Result, error)
}

// Result is what a tool gave.
type Result struct {
	// Text is for the model.
	Text string
	// Summary says in a few words what came of the call; it is shown to people.
	Summary string
	// Hits are the passages that a search found, best first.
	Hits []search.Hit
}

// Why a call came to nothing.
var (
	errToolSlow  = errors.New("the tool took too long")
	errToolPanic = errors.New("the tool panicked")
)

// call makes one call, in a goroutine of its own: a tool that does not stop with its context is left behind, and Close
// waits for it.
func (l *Loop) call(ctx context.Context, tool *Tool, arguments json.RawMessage, limit time.Duration) (Result, error) {
	if tool.Time > 0 {
		limit = min(limit, tool.Time)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errToolSlow)
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

// said is what the model and people are told of a failed call.
func (l *Loop) said(ctx context.Context, tool string, err error) string {
	if errors.Is(err, errToolSlow) {
		return "The tool took too long and was stopped."
	}
	if e := apierr.From(err); e.Code != apierr.Internal {
		return e.Message
	}
	l.opt.Log.ErrorContext(ctx, "a tool failed", slog.String("tool", tool), slog.Any("error", err))
	return "The tool failed."
}

// arguments reads what a model wrote for a call; what is no JSON object is told apart.
func arguments(call llm.ToolCall) (raw json.RawMessage, params map[string]any, wrong string) {
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
		if json.Unmarshal([]byte(text), &inner) == nil && json.Unmarshal([]byte(inner), &params) == nil && params != nil {
			return json.RawMessage(inner), params, ""
		}
		return nil, nil, "The arguments are no JSON object: " + shortened(err.Error(), 200)
	}
	if strings.Contains(text, `\u0000`) && holdsNUL(params) {
		return nil, nil, "The arguments must not contain the character U+0000."
	}
	return json.RawMessage(text), params, ""
}

// holdsNUL finds the character that the database cannot store.
func holdsNUL(value any) bool {
	switch value := value.(type) {
	case string:
		return strings.ContainsRune(value, 0)
	case []any:
		for _, item := range value {
			if holdsNUL(item) {
				return true
			}
		}
	case map[string]any:
		for key, item := range value {
			if strings.ContainsRune(key, 0) || holdsNUL(item) {
				return true
			}
		}
	}
	return false
}

// shortened cuts text to so many characters, an ellipsis included.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// clipped cuts a result to so many characters and says so.
func clipped(text string, most int) string {
	size := len(text)
	if longest := (most + 1) * utf8.UTFMax; size > longest {
		text = text[:longest] // what lies behind is cut in any case
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
	if len(text) <= most {
		return text
	}
	runes, end := 0, len(text)
	for i := range text {
		if runes == most {
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
