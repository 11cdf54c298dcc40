package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// Bounds of what one answer may call.
const (
	maxCalls     = 128     // calls; more are an answer that cannot be meant
	maxArguments = 1 << 20 // bytes of the arguments of all of them
)

// Tool is something that a model may call in place of an answer.
type Tool struct {
	// Name has letters, digits, _ and - only, at most 64.
	Name, Description string
	// Schema is the JSON schema of the arguments, of an object.
	Schema json.RawMessage
}

// ToolCall is one call that a model asks for.
type ToolCall struct {
	// ID is unique within a turn; it is made up where a service gives none, or one twice.
	ID string
	// Name is as the model wrote it, which may be no tool at all.
	Name string
	// Arguments are as the model wrote them, meant to be a JSON object. Nothing of that is checked.
	Arguments string
}

// Finish says why a model stopped.
type Finish string

// Why a model stopped.
const (
	FinishUnknown Finish = ""
	FinishStop    Finish = "stop"   // it was done
	FinishLength  Finish = "length" // it reached the most tokens that it may write: the answer, or its last call, is cut
	FinishTools   Finish = "tools"  // it waits for what its calls give
)

// calls puts calls together from the pieces that services send them in.
type calls struct {
	list  []ToolCall
	slots map[int]int // place in the list by the service's number
	last  int         // the number that the latest piece had
	size  int
}

// errTooManyCalls is the failure of a model that calls without end.
var errTooManyCalls = &provider.Error{Kind: provider.KindInvalid, Op: "chat", Message: "the model's tool calls are too many or too long"}

// add takes a piece: slot is the service's number of the call, -1 where it gives none. A piece with another id than the
// call of its number has begins a new call, and so does one with a name where that call is complete: some services number
// every call 0.
func (c *calls) add(slot int, id, name, arguments string) error {
	if c.slots == nil {
		c.slots = make(map[int]int)
	}
	if slot < 0 {
		slot = c.last
	}
	c.last = slot
	at, known := c.slots[slot]
	if known {
		call := &c.list[at]
		if id != "" && call.ID != "" && id != call.ID || id == "" && name != "" && call.Name != "" && isObject(call.Arguments) {
			known = false
		}
	}
	if !known {
		if len(c.list) == maxCalls {
			return errTooManyCalls
		}
		at = len(c.list)
		c.list, c.slots[slot] = append(c.list, ToolCall{}), at
	}
	call := &c.list[at]
	if call.ID == "" {
		call.ID = id
	}
	if call.Name == "" {
		call.Name = name
	}
	call.Arguments += arguments
	if c.size += len(id) + len(name) + len(arguments); c.size > maxArguments {
		return errTooManyCalls
	}
	return nil
}

// complete gives every call an id of its own.
func (c *calls) complete() []ToolCall {
	seen := make(map[string]bool, len(c.list))
	for i := range c.list {
		id := c.list[i].ID
		for n := i + 1; id == "" || seen[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
		}
		seen[id], c.list[i].ID = true, id
	}
	return c.list
}

// isObject reports whether text is a whole JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// object is the arguments of a call as services take them back: those that are no JSON object, as models write them at
// times, make some of them fail.
func (c ToolCall) object() string {
	if isObject(c.Arguments) {
		return c.Arguments
	}
	return "{}"
}

// resultText is what a tool gave, never blank, which services refuse.
func (m Message) resultText() string {
	if strings.TrimSpace(m.Content) == "" {
		return "(nothing)"
	}
	return m.Content
}

// withoutTools recognises the failure of a model that takes no tools.
func withoutTools(err error, request Request) error {
	var failure *provider.Error
	if len(request.Tools) == 0 || !errors.As(err, &failure) || failure.Kind != provider.KindInvalid && failure.Kind != provider.KindUnavailable {
		return err
	}
	switch failure.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
	default:
		return err
	}
	said := strings.ToLower(failure.Message)
	about := strings.Contains(said, "tool") || strings.Contains(said, "function call")
	refused := strings.Contains(said, "support") || strings.Contains(said, "enable-auto-tool-choice") || strings.Contains(said, "not enabled") ||
		strings.Contains(said, "not available") || strings.Contains(said, "--jinja")
	if !about || !refused {
		return err
	}
	noted := *failure
	noted.Kind = provider.KindNoTools
	return &noted
}
