package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

// hosted are the providers with the OpenAI protocol at addresses of their own.
func hosted() map[string]struct {
	open    func(llm.Config) (*llm.OpenAI, error)
	path    string
	header  map[string]string
	tooMany string // its documented answer to too many requests
	said    string
} {
	return map[string]struct {
		open    func(llm.Config) (*llm.OpenAI, error)
		path    string
		header  map[string]string
		tooMany string
		said    string
	}{
		"azure": {
			func(cfg llm.Config) (*llm.OpenAI, error) { return llm.NewAzure(cfg, "answers", "2024-10-21") },
			"/v1/openai/deployments/answers/chat/completions", map[string]string{"Api-Key": key, "Authorization": ""},
			`{"error":{"code":"429","message":"Requests have exceeded call rate limit"}}`, "exceeded call rate",
		},
		"vertex": {
			func(cfg llm.Config) (*llm.OpenAI, error) { return llm.NewVertex(cfg, "p-1", "europe-west4") },
			"/v1/v1/projects/p-1/locations/europe-west4/endpoints/openapi/chat/completions", map[string]string{"Authorization": "Bearer " + cloudkeys.Token},
			`[{"error":{"code":429,"message":"Quota exceeded for generate_content_requests","status":"RESOURCE_EXHAUSTED"}}]`, "Quota exceeded",
		},
		"cohere": {
			llm.NewCohere, "/v1/chat/completions", map[string]string{"Authorization": "Bearer " + key},
			`{"message":"You are using a Trial key, which is limited"}`, "Trial key",
		},
		"ollama": {
			llm.NewOllama, "/v1/chat/completions", nil,
			`{"error":{"message":"server busy, please try again","type":"api_error"}}`, "server busy",
		},
	}
}

func TestHostedModelsKeepTheContract(t *testing.T) {
	t.Parallel()
	for name, h := range hosted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llmtest.RunService(t, func(t *testing.T, cfg llm.Config) llm.ChatModel {
				model, err := h.open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(model.Close)
				return model
			})
		})
	}
}

func TestHostedModelsAreAskedAsDocumented(t *testing.T) {
	t.Parallel()
	for name, h := range hosted() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busy := llmtest.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "3"}, Body: h.tooMany}
			server := llmtest.NewServer(t, busy, llmtest.Reply{Parts: []string{"a ", "word"}}, busy)
			var waited time.Duration
			model, err := h.open(llm.Config{Name: "test", BaseURL: server.URL, Key: key, Model: "gpt-4o", Sleep: func(_ context.Context, d time.Duration) error {
				waited = d
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(model.Close)
			if text, _, err := llmtest.Collect(t.Context(), model, hello); err != nil || text != "a word" || waited != 3*time.Second {
				t.Errorf("text %q after %v, error %v", text, waited, err)
			}
			request := server.Requests()[1]
			if request.Path != h.path || request.Body["model"] != "gpt-4o" || request.Body["stream"] != true {
				t.Errorf("%s %v", request.Path, request.Body)
			}
			for header, want := range h.header {
				if got := request.Header.Get(header); got != want {
					t.Errorf("the header %s is %q, want %q", header, got, want)
				}
			}
			var failure *provider.Error
			if _, _, err := llmtest.Collect(t.Context(), model, hello); !errors.As(err, &failure) || failure.Kind != provider.KindRateLimited || !strings.Contains(failure.Message, h.said) {
				t.Errorf("error %v, want one that says %q", err, h.said)
			}
		})
	}
}

func TestOptionsThatAServiceDoesNotKnowAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ choice, usage bool }{"azure": {true, true}, "vertex": {true, true}, "ollama": {false, true}, "cohere": {false, false}} {
		server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"Rain."}})
		model, err := hosted()[name].open(llm.Config{Name: "test", BaseURL: server.URL, Key: key, Model: "gpt-4o"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		request := hello
		request.Tools, request.ToolsOff = []llm.Tool{{Name: "weather", Schema: []byte(`{"type":"object"}`)}}, true
		if _, _, err := llmtest.Collect(t.Context(), model, request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		body := server.Requests()[0].Body
		_, shown := body["tools"]
		_, usage := body["stream_options"]
		if shown != want.choice || (body["tool_choice"] == "none") != want.choice || usage != want.usage {
			t.Errorf("%s: %v", name, body)
		}
	}
}

func TestTheWindowOfModelsInBedrockIsKnown(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]int{
		"eu.anthropic.claude-sonnet-4-5-20250929-v1:0": 200_000, "amazon.nova-lite-v1:0": 128_000, "google/gemini-2.5-flash": 128_000, "command-a-03-2025": 128_000,
		"meta.llama3-8b-instruct-v1:0": llm.DefaultContextWindow,
	} {
		if got := llm.KnownWindow(model); got != want {
			t.Errorf("%s has %d, want %d", model, got, want)
		}
	}
}
