package llm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

const key = "sk-test-0123456789"

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "Be short."}, {Role: llm.RoleUser, Content: "Hello?"}}}

func newModel(t *testing.T, server *llmtest.Server, change func(*llm.Config)) *llm.OpenAI {
	t.Helper()
	cfg := llm.Config{Name: "test", BaseURL: server.URL, Key: key, Model: "m-1", Sleep: func(context.Context, time.Duration) error { return nil }}
	if change != nil {
		change(&cfg)
	}
	model, err := llm.NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

func TestOpenAIKeepsTheContract(t *testing.T) {
	t.Parallel()
	llmtest.RunService(t, func(t *testing.T, cfg llm.Config) llm.ChatModel {
		model, err := llm.NewOpenAI(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		return model
	})
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"a"}})
	request := hello
	request.MaxTokens, request.Temperature = 50, 0.5
	if _, _, err := llmtest.Collect(t.Context(), newModel(t, server, nil), request); err != nil {
		t.Fatal(err)
	}
	request.Model, request.Temperature = "o3-mini", 0
	if _, _, err := llmtest.Collect(t.Context(), newModel(t, server, nil), request); err != nil {
		t.Fatal(err)
	}
	request.Model = "other"
	if _, _, err := llmtest.Collect(t.Context(), newModel(t, server, nil), request); err != nil {
		t.Fatal(err)
	}
	seen := server.Requests()
	first := seen[0]
	if first.Path != "/v1/chat/completions" || first.Authorization != "Bearer "+key {
		t.Errorf("path %s", first.Path)
	}
	options, _ := first.Body["stream_options"].(map[string]any)
	messages, _ := first.Body["messages"].([]any)
	if first.Body["model"] != "m-1" || first.Body["stream"] != true || options["include_usage"] != true || first.Body["max_tokens"] != 50.0 ||
		first.Body["temperature"] != 0.5 || len(messages) != 2 {
		t.Errorf("body %v", first.Body)
	}
	if second := seen[1].Body; second["model"] != "o3-mini" || second["max_completion_tokens"] != 50.0 || second["temperature"] != nil || second["max_tokens"] != nil {
		t.Errorf("body for a reasoning model %v", second)
	}
	if zero, ok := seen[2].Body["temperature"].(float64); !ok || zero > 1e-9 {
		t.Errorf("temperature zero was sent as %v", seen[2].Body["temperature"])
	}
}

func TestMissingUsageIsCounted(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"Four words of text", "."}})
	_, usage, err := llmtest.Collect(t.Context(), newModel(t, server, nil), hello)
	if err != nil || usage == nil || usage.CompletionTokens != 5 || usage.PromptTokens < 8 || usage.PromptTokens > 20 {
		t.Errorf("usage %+v, error %v", usage, err)
	}
}

func TestFailuresAreTypedAndHoldNoKey(t *testing.T) {
	t.Parallel()
	body := func(message, kind, code string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	for name, c := range map[string]struct {
		reply llmtest.Reply
		kind  provider.Kind
		tries int
		text  string
	}{
		"wrong key":        {llmtest.Reply{Status: 401, Body: body("Incorrect API key provided: "+key+".", "invalid_request_error", "invalid_api_key")}, provider.KindAuth, 1, ""},
		"forbidden":        {llmtest.Reply{Status: 403, Body: "no"}, provider.KindAuth, 1, ""},
		"too long":         {llmtest.Reply{Status: 400, Body: body("This model's maximum context length is 8192 tokens", "invalid_request_error", "context_length_exceeded")}, provider.KindContextLength, 1, ""},
		"bad request":      {llmtest.Reply{Status: 400, Body: body("unknown field", "invalid_request_error", "")}, provider.KindInvalid, 1, ""},
		"no model":         {llmtest.Reply{Status: 404, Body: "<html>not here</html>"}, provider.KindInvalid, 1, ""},
		"rate limit":       {llmtest.Reply{Status: 429, Body: body("slow down", "requests", "rate_limit_exceeded")}, provider.KindRateLimited, 2, ""},
		"failing service":  {llmtest.Reply{Status: 503, Body: ""}, provider.KindUnavailable, 2, ""},
		"error in stream":  {llmtest.Reply{Raw: event("Hel") + ": comment\n\ndata: {\"error\": {\"message\": \"The server had an error, key " + key + "\", \"type\": \"server_error\", \"code\": null}}\n\n"}, provider.KindUnavailable, 1, "Hel"},
		"sentence":         {llmtest.Reply{Raw: event("Hel") + "data: {\"error\": \"overloaded\"}\n\n"}, provider.KindUnavailable, 1, "Hel"},
		"named event":      {llmtest.Reply{Raw: event("Hel") + "event: error\ndata: {\"error\":{\"message\":\"x\",\"code\":429}}\n\n"}, provider.KindRateLimited, 1, "Hel"},
		"error for stream": {llmtest.Reply{Raw: `{"error":{"message":"no capacity","type":"server_error"}}`}, provider.KindUnavailable, 2, ""},
		"cut connection":   {llmtest.Reply{Parts: []string{"Hel"}, Cut: true}, provider.KindInterrupted, 1, "Hel"},
		"closed early":     {llmtest.Reply{Raw: event("Hel")}, provider.KindInterrupted, 1, "Hel"},
		"cut before text":  {llmtest.Reply{Raw: ": hi\n\n", Cut: true}, provider.KindInterrupted, 2, ""},
		"nonsense":         {llmtest.Reply{Raw: "data: {nonsense}\n\n"}, provider.KindInvalid, 1, ""},
		"filtered midway":  {llmtest.Reply{Raw: event("Hel") + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n"}, provider.KindRefused, 1, "Hel"},
		"filtered":         {llmtest.Reply{Raw: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n"}, provider.KindRefused, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, c.reply)
			text, usage, err := llmtest.Collect(t.Context(), newModel(t, server, nil), hello)
			if !provider.IsKind(err, c.kind) || text != c.text || usage != nil {
				t.Errorf("text %q, usage %v, error %v, want kind %s", text, usage, err, c.kind)
			}
			if tries := len(server.Requests()); tries != c.tries {
				t.Errorf("%d tries, want %d", tries, c.tries)
			}
			if strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "0123456789") {
				t.Errorf("the error holds the key: %v", err)
			}
		})
	}
}

func event(text string) string {
	return "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + text + "\"}}]}\n\n"
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, cfg := range []llm.Config{{BaseURL: "http://h/v1"}, {Model: "m"}, {Model: "m", BaseURL: "ftp://h"}, {Model: "m", BaseURL: "h/v1"}} {
		if _, err := llm.NewOpenAI(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
		if _, err := llm.NewAnthropic(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestModelsFindTheDefault(t *testing.T) {
	t.Parallel()
	none, err := llm.NewModels()
	if err != nil {
		t.Fatal(err)
	}
	if _, found := none.Lookup(""); found || len(none.Names()) != 0 {
		t.Error("an empty list has a default")
	}
	server := llmtest.NewServer(t)
	first := newModel(t, server, nil)
	second := newModel(t, server, func(cfg *llm.Config) { cfg.Name = "" })
	models, err := llm.NewModels(first, second)
	if err != nil {
		t.Fatal(err)
	}
	if model, found := models.Lookup(""); !found || model.Name() != "test" {
		t.Error("the default is not the first")
	}
	if model, found := models.Lookup("m-1"); !found || model != llm.ChatModel(second) {
		t.Error("a model is not found by its name")
	}
	if _, found := models.Lookup("other"); found {
		t.Error("an unknown model was found")
	}
	if _, err := llm.NewModels(first, first); err == nil {
		t.Error("a repeated name was accepted")
	}
}
