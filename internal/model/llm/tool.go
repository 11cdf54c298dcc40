package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// Limits of the calls of one answer.
const (
	maxCalls     = 128     // calls
	maxArguments = 1 << 20 // bytes of the arguments of all calls
)

// A Tool is a function that a model may call.
type Tool struct {
	// Name has up to 64 letters, digits, _ and -.
	Name, Description string
	// Schema is the JSON schema of the arguments, which are an object.
	Schema json.RawMessage
}

// A ToolCall is a call that a model requests.
type ToolCall struct {
	// ID is unique within a message. It is generated if the service sends none or a duplicate.
	ID string
	// Name is not checked; it may be unknown.
	Name string
	// Arguments should be a JSON object, but are not checked.
	Arguments string
}

// A Finish is the reason why a model stopped.
type Finish string

// The reasons.
const (
	FinishUnknown Finish = ""
	FinishStop    Finish = "stop"   // the answer is complete
	FinishLength  Finish = "length" // the answer or its last call is cut at the token limit
	FinishTools   Finish = "tools"  // it waits for the results of its calls
)

// calls assembles tool calls from the pieces that services send.
type calls struct {
	list  []ToolCall
	slots map[int]int // index in list by the service's number
	last  int         // the number of the latest piece
	size  int
}

// errTooManyCalls is the failure of an answer that exceeds the limits of calls.
var errTooManyCalls = &provider.Error{Kind: provider.KindInvalid, Op: "chat", Message: "the model's tool calls are too many or too long"}

// add adds a piece. slot is the service's number of the call, or -1 without one. Some services number every call 0, so
// that a piece begins a new call if its id differs from that of the call with its number, or if it has a name and that
// call is complete.
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

// complete returns the calls with unique ids.
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

// isObject reports whether text is a complete JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

// object returns the arguments of a call, or an empty object if they are not a JSON object, which some services refuse.
func (c ToolCall) object() string {
	if isObject(c.Arguments) {
		return c.Arguments
	}
	return "{}"
}

// resultText returns the result of a tool. It is never blank, because services refuse blank results.
func (m Message) resultText() string {
	if strings.TrimSpace(m.Content) == "" {
		return "(nothing)"
	}
	return m.Content
}

// inWords returns messages without calls and results of tools, which are told in words instead.
func inWords(messages []Message) []Message {
	told := make([]Message, len(messages))
	for i, m := range messages {
		told[i] = Message{Role: m.Role, Content: m.Content}
		if m.Role == RoleTool {
			told[i] = Message{Role: RoleUser, Content: "The result of the call " + m.CallID + ": " + m.resultText()}
		}
		for _, call := range m.Calls {
			told[i].Content = strings.TrimLeft(fmt.Sprintf("%s\n(The call %s: %s %s)", told[i].Content, call.ID, call.Name, call.object()), "\n")
		}
	}
	return told
}

// noToolsError returns an error of the kind "no tools" if err is the failure of a model without tools, and err otherwise.
func noToolsError(err error, request Request) error {
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
