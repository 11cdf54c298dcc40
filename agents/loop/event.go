package loop

// Status says what an iteration is at.
type Status string

// The statuses of an iteration.
const (
	Planning  Status = "planning"  // the model is asked
	Acting    Status = "acting"    // tools are at work
	Answering Status = "answering" // the model writes
)

// Event is one step of a run as its reader sees it.
type Event interface{ event() }

// Iteration tells that a round begins or goes on to something else. A round is one request to the model and the calls that
// it asks for.
type Iteration struct {
	Number int // from 1
	Status Status
}

// ToolCall tells that a tool is called.
type ToolCall struct {
	Tool   string
	CallID string         // unique within the run
	Params map[string]any // never nil; empty where the model's were no JSON object
}

// ToolResult tells what came of a call. Every call has one.
type ToolResult struct {
	Tool    string
	CallID  string
	Success bool
	Message string // a few words about the result, or what went wrong; safe to show
}

// Content goes on with the answer, which is Markdown.
type Content struct{ Text string }

func (Iteration) event()  {}
func (ToolCall) event()   {}
func (ToolResult) event() {}
func (Content) event()    {}
