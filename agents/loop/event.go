package loop

import "github.com/google/uuid"

// Status is the phase of an iteration.
type Status string

// The phases of an iteration.
const (
	Planning  Status = "planning"  // the model is asked
	Acting    Status = "acting"    // tools run
	Answering Status = "answering" // the model writes
)

// Event is one step of a run as its reader sees it.
type Event interface{ event() }

// Iteration reports that a round begins or enters another phase. A round is one
// request to the model and the calls that the model asks for.
type Iteration struct {
	Number int // from 1
	Status Status
}

// ToolCall reports that a tool is called.
type ToolCall struct {
	Tool   string
	CallID string         // unique within the run
	Params map[string]any // never nil; empty if the model's arguments are not a JSON object
}

// ToolResult reports the result of a call. Every call has one.
type ToolResult struct {
	Tool    string
	CallID  string
	Success bool
	Message string // a summary of the result, or what failed; safe to show
}

// AuthRequired reports that a call fails because an account must be connected first.
// It precedes the result of the call.
type AuthRequired struct {
	CallID      string
	Integration uuid.UUID
	Name        string // of the integration
	// URL is the address at which the run's person connects it; empty if that person cannot.
	URL string
}

// Content is the next piece of the answer, in Markdown.
type Content struct{ Text string }

func (Iteration) event()    {}
func (ToolCall) event()     {}
func (ToolResult) event()   {}
func (AuthRequired) event() {}
func (Content) event()      {}
