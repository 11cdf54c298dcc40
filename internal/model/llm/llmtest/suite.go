package llmtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/model/llm"
)

// Run tests a ChatModel whose answers have at least two parts.
func Run(t *testing.T, model llm.ChatModel) {
	t.Helper()
	question := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: "Say two words."}}}
	t.Run("names itself", func(t *testing.T) {
		if model.Name() == "" {
			t.Error("the model has no name")
		}
	})
	t.Run("text, then usage", func(t *testing.T) {
		text, parts, usage := "", 0, (*llm.Usage)(nil)
		for event, err := range model.Stream(t.Context(), question) {
			if err != nil {
				t.Fatalf("stream: %v", err)
			}
			if usage != nil {
				t.Errorf("event %+v comes after the usage", event)
			}
			text, parts, usage = text+event.Text, parts+1, event.Usage
		}
		if strings.TrimSpace(text) == "" || parts < 3 || usage == nil || usage.CompletionTokens <= 0 || usage.PromptTokens <= 0 {
			t.Errorf("text %q in %d events, usage %+v", text, parts, usage)
		}
	})
	t.Run("a consumer may stop", func(t *testing.T) {
		count := 0
		for range model.Stream(t.Context(), question) {
			count++
			break
		}
		if count != 1 {
			t.Errorf("%d events", count)
		}
	})
	t.Run("ended context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		failed := false
		for event, err := range model.Stream(ctx, question) {
			if failed = err != nil; failed && !errors.Is(err, context.Canceled) || event.Text != "" {
				t.Errorf("event %+v, error %v", event, err)
			}
		}
		if !failed {
			t.Error("no error")
		}
	})
}
