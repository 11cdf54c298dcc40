package chat

import (
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Event is one step of an answer. A stream is Start, any number of Content,
// Sources, FollowUp, Done. Failed replaces the rest of the events. A stream
// ends without Done or Failed only if its reader left.
type Event interface{ event() }

// Start is the first event. The conversation and the question are stored.
type Start struct {
	Conversation uuid.UUID
	Collection   uuid.UUID // the only one that is searched; zero for all in scope
}

// Content is the next piece of the answer, in Markdown.
type Content struct {
	Delta string
}

// Sources lists the documents that the answer cites, each once: [n] cites the
// n-th. It is empty if the answer cites nothing.
type Sources struct {
	Sources []Source
}

// Source is a document that an answer cites.
type Source struct {
	ID    uuid.UUID // of the document
	Title string
	URL   string // "" if the document has none
	// Passages are those that are cited, or that the model of an agent read of the
	// document, at most 10.
	Passages []CitedPassage
}

// A CitedPassage is a passage that an answer cites.
type CitedPassage struct {
	ID          uuid.UUID `json:"id"`
	HeadingPath []string  `json:"headingPath"`
	Excerpt     string    `json:"excerpt"` // the beginning of its text in one line
}

// FollowUp holds up to three questions that the searched documents answer.
// Questions may be empty but is not nil.
type FollowUp struct {
	Questions []string
}

// Done is the last event of a complete answer. The answer is stored.
type Done struct {
	Usage        Usage
	Conversation uuid.UUID
}

// Usage counts the tokens of all model calls of an answer.
type Usage struct {
	PromptTokens, CompletionTokens int
}

// TotalTokens returns the sum of both.
func (u Usage) TotalTokens() int { return u.PromptTokens + u.CompletionTokens }

// Failed is the last event of an answer that failed. The message is safe for
// visitors; the log has the cause.
type Failed struct {
	Code      apierr.Code
	Message   string
	RequestID string `json:",omitempty"` // of the request that asked; empty if it is not known
}

func (Start) event()    {}
func (Content) event()  {}
func (Sources) event()  {}
func (FollowUp) event() {}
func (Done) event()     {}
func (Failed) event()   {}
