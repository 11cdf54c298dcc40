package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Role says who speaks in a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	// RoleTool is what a tool gave for a call of the assistant's turn before.
	RoleTool Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role    Role
	Content string
	// Calls are what an assistant's turn asked for. Every one is answered by a message of RoleTool right behind the turn.
	Calls []ToolCall
	// CallID is the call that a message of RoleTool answers, Failed whether the tool failed.
	CallID string
	Failed bool
}

// Request asks a model to continue a conversation.
type Request struct {
	// Model overrides the model the ChatModel was made for, as the provider names it; "" keeps that.
	Model    string
	Messages []Message
	// MaxTokens bounds the answer; 0 leaves it to the model's own setting.
	MaxTokens int
	// Temperature is from 0 (the likeliest words) to 2.
	Temperature float32
	// Tools are what the model may call. They have to be there, too, where earlier turns called them.
	Tools []Tool
	// ToolsOff lets the model see the tools and call none.
	ToolsOff bool
}

// Usage counts the tokens of one request.
type Usage struct {
	PromptTokens, CompletionTokens int
}

// TotalTokens is the sum of both.
func (u Usage) TotalTokens() int { return u.PromptTokens + u.CompletionTokens }

// Event is one step of an answer.
type Event struct {
	// Text is what the answer goes on with.
	Text string
	// Call is something that the model asks for. Calls come whole, one an event, behind all text, and only where the turn
	// is complete.
	Call *ToolCall
	// Finish says on the last event why the model stopped, where the service told.
	Finish Finish
	// Usage is set on the last event of a complete answer, and only there.
	Usage *Usage
}

// ChatModel is a model that streams answers.
type ChatModel interface {
	// Name is the name of the model for people and settings.
	Name() string
	// Stream asks the model and yields its answer as it comes. The provider call ends when the consumer stops or the
	// context ends. An error is yielded once, last; text before it stands. A stream without an error ends with one event
	// that carries Usage. A model that takes no tools fails with a *provider.Error of the kind "no tools". The sequence can be consumed once for each call of Stream.
	Stream(ctx context.Context, request Request) iter.Seq2[Event, error]
}

// Models holds the chat models of an installation by name. The zero value has none; it does not change once made.
type Models struct {
	names  []string
	byName map[string]ChatModel
}

// NewModels makes the list of models; the first is the default. None is allowed: answers are then made without a model.
func NewModels(models ...ChatModel) (*Models, error) {
	m := &Models{byName: make(map[string]ChatModel, len(models))}
	for _, model := range models {
		name := model.Name()
		if name == "" {
			return nil, errors.New("chat models: a model has no name")
		}
		if _, found := m.byName[name]; found {
			return nil, fmt.Errorf("chat models: model %q is there twice", name)
		}
		m.byName[name] = model
		m.names = append(m.names, name)
	}
	return m, nil
}

// Lookup returns the model of a name; "" asks for the default.
func (m *Models) Lookup(name string) (ChatModel, bool) {
	if name == "" {
		return m.Default()
	}
	model, found := m.byName[name]
	return model, found
}

// Default returns the first model, and false when there is none.
func (m *Models) Default() (ChatModel, bool) {
	if len(m.names) == 0 {
		return nil, false
	}
	return m.byName[m.names[0]], true
}

// Names returns the names of all models, the default first.
func (m *Models) Names() []string { return slices.Clone(m.names) }
