package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// A Role is the author of a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	// RoleTool is the result of a tool call of the preceding assistant message.
	RoleTool Role = "tool"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    Role
	Content string
	// Calls are the tool calls of an assistant message. The messages with their results follow it directly.
	Calls []ToolCall
	// CallID is the call of a message of RoleTool. Failed reports whether the tool failed.
	CallID string
	Failed bool
}

// A Request asks a model to continue a conversation.
type Request struct {
	// Model is the provider's name of the model; the model of the ChatModel when empty.
	Model    string
	Messages []Message
	// MaxTokens limits the answer; 0 for the limit of the model.
	MaxTokens int
	// Temperature is from 0 (most likely words) to 2.
	Temperature float32
	// Tools are the tools that the model may call. They include those that earlier messages call.
	Tools []Tool
	// ToolsOff shows the tools to the model but forbids calls.
	ToolsOff bool
}

// Usage counts the tokens of one request.
type Usage struct {
	PromptTokens, CompletionTokens int
}

// TotalTokens returns the sum of both.
func (u Usage) TotalTokens() int { return u.PromptTokens + u.CompletionTokens }

// An Event is one step of an answer.
type Event struct {
	// Text is the next piece of the answer.
	Text string
	// Call is something that the model asks for. Calls come whole, one an event, behind all text, and only where the turn
	// is complete.
	Call *ToolCall
	// Finish is the reason of the end, on the last event; FinishUnknown if the service sent none.
	Finish Finish
	// Usage is set on the last event of a complete answer, and only there.
	Usage *Usage
}

// A ChatModel is a model that streams answers.
type ChatModel interface {
	// Name is the name of the model for people and settings.
	Name() string
	// Stream asks the model and yields the answer while it is generated. The request ends when the consumer stops or the
	// context ends. An error is yielded last; the text before it is valid. Without an error, the last event has Usage. A
	// model without tools fails with a *provider.Error of the kind "no tools". The sequence can be consumed once.
	Stream(ctx context.Context, request Request) iter.Seq2[Event, error]
}

// Models are the chat models of an installation by name. It is immutable. The zero value has no models.
type Models struct {
	names  []string
	byName map[string]ChatModel
}

// NewModels returns the models; the first is the default. There may be none.
func NewModels(models ...ChatModel) (*Models, error) {
	m := &Models{byName: make(map[string]ChatModel, len(models))}
	for _, model := range models {
		name := model.Name()
		if name == "" {
			return nil, errors.New("chat models: a model has no name")
		}
		if _, found := m.byName[name]; found {
			return nil, fmt.Errorf("chat models: duplicate model %q", name)
		}
		m.byName[name] = model
		m.names = append(m.names, name)
	}
	return m, nil
}

// Lookup returns the model of a name, or the default for "".
func (m *Models) Lookup(name string) (ChatModel, bool) {
	if name == "" {
		return m.Default()
	}
	model, found := m.byName[name]
	return model, found
}

// Default returns the first model. It returns false if there is none.
func (m *Models) Default() (ChatModel, bool) {
	if len(m.names) == 0 {
		return nil, false
	}
	return m.byName[m.names[0]], true
}

// Names returns the names of all models, the default first.
func (m *Models) Names() []string { return slices.Clone(m.names) }
