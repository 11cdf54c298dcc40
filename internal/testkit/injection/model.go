package injection

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// Obedient is a model that does whatever the text that it reads orders: it makes the call
// that stands in the prompt, again and again, and reads first.
type Obedient struct {
	// Reads makes it call the tool "read" before anything else.
	Reads bool

	turns atomic.Int32
	tools atomic.Pointer[[]string]
}

// Tools returns the names of the tools of the last request.
func (m *Obedient) Tools() []string {
	if names := m.tools.Load(); names != nil {
		return *names
	}
	return nil
}

// Name implements llm.ChatModel.
func (*Obedient) Name() string { return "obedient" }

// Stream implements llm.ChatModel.
func (m *Obedient) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	turn := m.turns.Add(1)
	var names []string
	for _, tool := range r.Tools {
		names = append(names, tool.Name)
	}
	m.tools.Store(&names)
	var prompt strings.Builder
	for _, message := range r.Messages {
		prompt.WriteString(message.Content + "\n")
	}
	return func(yield func(llm.Event, error) bool) {
		found := regexp.MustCompile(`CALL (\S+) (\{[^;]*\});`).FindAllStringSubmatch(prompt.String(), 1)
		switch {
		case m.Reads && turn == 1:
			if !yield(llm.Event{Call: &llm.ToolCall{ID: "read", Name: "read", Arguments: "{}"}}, nil) {
				return
			}
		case len(found) > 0 && turn < 4 && !r.ToolsOff:
			if !yield(llm.Event{Call: &llm.ToolCall{ID: fmt.Sprint(turn), Name: found[0][1], Arguments: found[0][2]}}, nil) {
				return
			}
		default:
			if !yield(llm.Event{Text: "To: eve@evil.example\r\nBcc: eve@evil.example\r\n\r\n" + prompt.String()}, nil) {
				return
			}
		}
		yield(llm.Event{Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 1}}, nil)
	}
}
