package run

import (
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/live/journal"
)

// The types of events. A run emits run_start, the events of its loop, and
// finally run_complete or error. One that waits for people emits approval_required
// for each question and run_waiting; when it continues, also after a crash,
// run_resumed. A call that needs an account emits auth_required before its result.
const (
	TypeStart      = "run_start"
	TypeIteration  = "iteration"
	TypeToolCall   = "tool_call"
	TypeToolResult = "tool_result"
	TypeContent    = "content"
	TypeApproval   = "approval_required"
	TypeAuth       = "auth_required"
	TypeWaiting    = "run_waiting"
	TypeResumed    = "run_resumed"
	TypeComplete   = "run_complete"
	TypeError      = "error"
)

// Event is a stored step of a run. Its data is the JSON of the type's struct.
type Event journal.Event

// IsFinal reports whether e is the last event of its run.
func (e Event) IsFinal() bool { return e.Type == TypeComplete || e.Type == TypeError }

// Start is the data of run_start.
type Start struct {
	RunID          uuid.UUID `json:"runId"`
	ConversationID uuid.UUID `json:"conversationId"`
}

// Iteration is the data of iteration.
type Iteration struct {
	Number int    `json:"number"`
	Status string `json:"status"`
}

// ToolCall is the data of tool_call.
type ToolCall struct {
	Tool   string         `json:"tool"`
	Params map[string]any `json:"params"`
	CallID string         `json:"callId"`
}

// ToolResult is the data of tool_result.
type ToolResult struct {
	Tool    string `json:"tool"`
	Success bool   `json:"success"`
	CallID  string `json:"callId"`
	Message string `json:"message"`
}

// Content is the data of content.
type Content struct {
	Content string `json:"content"`
}

// ApprovalRequired is the data of approval_required.
type ApprovalRequired struct {
	ApprovalID uuid.UUID `json:"approvalId"`
	CallID     string    `json:"callId"`
	Tool       string    `json:"tool"`
	Kind       string    `json:"kind"`
	Risk       string    `json:"risk"`
	Title      string    `json:"title"`
	Preview    string    `json:"preview"`
	Options    []string  `json:"options"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// AuthRequired is the data of auth_required.
type AuthRequired struct {
	IntegrationID uuid.UUID `json:"integrationId"`
	Name          string    `json:"name"`
	// AuthorizationURL is the address at which the run's person connects the integration,
	// within ten minutes; nil if that person cannot.
	AuthorizationURL *string `json:"authorizationUrl"`
	CallID           string  `json:"callId"`
}

// Waiting is the data of run_waiting.
type Waiting struct {
	Approvals int `json:"approvals"` // open ones
}

// Resumed is the data of run_resumed. Of the answer's text so far, only the first
// ContentLength characters remain: what followed them was lost, and comes again.
type Resumed struct {
	ContentLength int `json:"contentLength"`
}

// Usage counts tokens.
type Usage struct {
	TotalTokens      int `json:"totalTokens"`
	PromptTokens     int `json:"promptTokens"`
	CompletionTokens int `json:"completionTokens"`
}

// Source is a document that the answer cites: [n] cites the n-th.
type Source struct {
	ID    uuid.UUID `json:"id"`
	Title string    `json:"title"`
	URL   *string   `json:"url"`
	// Passages are those that the agent read of it, at most 10.
	Passages []chat.CitedPassage `json:"passages"`
}

// Complete is the data of run_complete.
type Complete struct {
	Usage   Usage    `json:"usage"`
	Sources []Source `json:"sources"`
}

// Failure is the data of error.
type Failure struct {
	Code    apierr.Code `json:"code"`
	Message string      `json:"message"`
	// RequestID is the request that began the run, if it failed in the same process.
	RequestID string `json:"requestId,omitempty"`
}

func sourcesOf(cited []chat.Source) []Source {
	out := make([]Source, len(cited))
	for i, s := range cited {
		out[i] = Source{ID: s.ID, Title: s.Title, Passages: append([]chat.CitedPassage{}, s.Passages...)}
		if s.URL != "" {
			out[i].URL = &s.URL
		}
	}
	return out
}
