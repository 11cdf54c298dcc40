package chat

import (
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Event is one step of an answer. A stream is Start, Content as often as needed, Sources, FollowUp, Done; or Failed in
// the place of whatever was still to come. It ends without a last event only when its reader left.
type Event interface{ event() }

// Start is the first event; the conversation and the question are stored by then.
type Start struct {
	Conversation uuid.UUID
}

// Content goes on with the answer, which is Markdown.
type Content struct {
	Delta string
}

// Sources lists the documents that the answer cites, each once, so that [n] in the answer is the n-th of them. It is
// empty when nothing was cited.
type Sources struct {
	Sources []Source
}

// Source is a document that an answer cites.
type Source struct {
	ID    uuid.UUID // of the document
	Title string
	URL   string // "" where the document has none
}

// FollowUp holds up to three questions that the searched documents can answer; it may be empty, never nil.
type FollowUp struct {
	Questions []string
}

// Done is the last event of a complete answer; the answer is stored by then.
type Done struct {
	Usage        Usage
	Conversation uuid.UUID
}

// Usage counts the tokens of every model call that an answer took; zero when no model was asked.
type Usage struct {
	PromptTokens, CompletionTokens int
}

// TotalTokens is the sum of both.
func (u Usage) TotalTokens() int { return u.PromptTokens + u.CompletionTokens }

// Failed is the last event of an answer that broke off. The message is safe for visitors; the log has the cause.
type Failed struct {
	Code    apierr.Code
	Message string
}

func (Start) event()    {}
func (Content) event()  {}
func (Sources) event()  {}
func (FollowUp) event() {}
func (Done) event()     {}
func (Failed) event()   {}
