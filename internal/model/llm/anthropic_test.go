package llm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

func newAnthropic(t *testing.T, cfg llm.Config) llm.ChatModel {
	t.Helper()
	model, err := llm.NewAnthropic(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

// claude returns a model of a server.
func claude(t *testing.T, server *llmtest.Server) llm.ChatModel {
	t.Helper()
	return newAnthropic(t, llm.Config{
		BaseURL: server.URL, Key: key, Model: "claude-sonnet-4-5", Sleep: func(context.Context, time.Duration) error { return nil },
	})
}

func TestAnthropicKeepsTheContract(t *testing.T) {
	t.Parallel()
	llmtest.RunService(t, newAnthropic)
}

func TestAnthropicRequestOnTheWire(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"a"}})
	request := llm.Request{Temperature: 1.5, Messages: []llm.Message{
		{Role: llm.RoleSystem, Content: "Be short."}, {Role: llm.RoleUser, Content: "One?"}, {Role: llm.RoleUser, Content: "Two?"},
		{Role: llm.RoleAssistant, Content: " \n"}, {Role: llm.RoleUser, Content: "Three?"}, {Role: llm.RoleAssistant, Content: "Yes."},
		{Role: llm.RoleUser, Content: "Four?"},
	}}
	if _, _, err := llmtest.Collect(t.Context(), claude(t, server), request); err != nil {
		t.Fatal(err)
	}
	seen := server.Requests()[0]
	if seen.Path != "/v1/messages" || seen.APIKey != key || seen.Authorization != "" || seen.Header.Get("Anthropic-Version") == "" {
		t.Errorf("path %s, headers %v", seen.Path, seen.Header)
	}
	body := seen.Body
	if body["model"] != "claude-sonnet-4-5" || body["stream"] != true || body["max_tokens"] != 4096.0 || body["temperature"] != 1.0 {
		t.Errorf("body %v", body)
	}
	if got := fmt.Sprint(body["system"]); got != "[map[text:Be short. type:text]]" {
		t.Errorf("system %s", got)
	}
	messages, _ := body["messages"].([]any)
	var roles []string
	for _, message := range messages {
		m, _ := message.(map[string]any)
		content, _ := m["content"].([]any)
		roles = append(roles, fmt.Sprint(m["role"], len(content)))
	}
	if strings.Join(roles, " ") != "user3 assistant1 user1" {
		t.Errorf("messages %v", messages)
	}
}

func TestAnthropicFailuresAreTyped(t *testing.T) {
	t.Parallel()
	body := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
	}
	begun, _ := llmtest.AnthropicStream([]string{"Hel"}, &[2]int{11, 7})
	start, _ := llmtest.AnthropicStream(nil, &[2]int{11, 7})
	told := func(kind string) string { return "event: error\ndata: " + body(kind, "says "+key) + "\n\n" }
	delta := func(reason string) string {
		return "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" + reason + "\"},\"usage\":{\"output_tokens\":3}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	}
	for name, c := range map[string]struct {
		reply llmtest.Reply
		kind  provider.Kind
		tries int
		text  string
		spent llm.Usage
	}{
		"wrong key":           {llmtest.Reply{Status: 401, Body: body("authentication_error", "invalid x-api-key")}, provider.KindAuth, 1, "", llm.Usage{}},
		"no money":            {llmtest.Reply{Status: 402, Body: body("billing_error", "no")}, provider.KindAuth, 1, "", llm.Usage{}},
		"too long":            {llmtest.Reply{Status: 400, Body: body("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")}, provider.KindContextLength, 1, "", llm.Usage{}},
		"too large":           {llmtest.Reply{Status: 413, Body: body("request_too_large", "no")}, provider.KindContextLength, 1, "", llm.Usage{}},
		"overloaded":          {llmtest.Reply{Status: 529, Body: body("overloaded_error", "Overloaded")}, provider.KindUnavailable, 2, "", llm.Usage{}},
		"overloaded early":    {llmtest.Reply{Raw: start + told("overloaded_error")}, provider.KindUnavailable, 2, "", llm.Usage{PromptTokens: 22, CompletionTokens: 2}},
		"overloaded midway":   {llmtest.Reply{Raw: begun + told("overloaded_error")}, provider.KindUnavailable, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"limited midway":      {llmtest.Reply{Raw: begun + told("rate_limit_error")}, provider.KindRateLimited, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"key expired midway":  {llmtest.Reply{Raw: begun + told("authentication_error")}, provider.KindAuth, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"failing midway":      {llmtest.Reply{Raw: begun + told("api_error")}, provider.KindUnavailable, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"error without words": {llmtest.Reply{Raw: begun + "event: error\ndata: oh\n\n"}, provider.KindUnavailable, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"refused":             {llmtest.Reply{Raw: start + delta("refusal")}, provider.KindRefused, 1, "", llm.Usage{PromptTokens: 11, CompletionTokens: 3}},
		"refused midway":      {llmtest.Reply{Raw: begun + delta("refusal")}, provider.KindRefused, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 3}},
		"cut connection":      {llmtest.Reply{Parts: []string{"Hel"}, Usage: &[2]int{11, 7}, Cut: true}, provider.KindInterrupted, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"closed early":        {llmtest.Reply{Raw: begun}, provider.KindInterrupted, 1, "Hel", llm.Usage{PromptTokens: 11, CompletionTokens: 1}},
		"no stream":           {llmtest.Reply{Raw: "<html>hello</html>"}, provider.KindInterrupted, 2, "", llm.Usage{}},
		"nonsense":            {llmtest.Reply{Raw: "event: message_start\ndata: {nonsense}\n\n"}, provider.KindInvalid, 1, "", llm.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, c.reply)
			text, usage, err := llmtest.Collect(t.Context(), claude(t, server), hello)
			if !provider.IsKind(err, c.kind) || text != c.text || usage != nil {
				t.Fatalf("text %q, usage %v, error %v, want kind %s", text, usage, err, c.kind)
			}
			if spent := llm.Spent(err); spent != c.spent {
				t.Errorf("spent %+v, want %+v", spent, c.spent)
			}
			if tries := len(server.Requests()); tries != c.tries {
				t.Errorf("%d tries, want %d", tries, c.tries)
			}
			if strings.Contains(err.Error(), "0123456789") {
				t.Errorf("the error holds the key: %v", err)
			}
		})
	}
}

func TestAnthropicUsageCountsCachedAndFailedRequests(t *testing.T) {
	t.Parallel()
	stream, ending := llmtest.AnthropicStream([]string{"Yes."}, &[2]int{10, 2})
	cached := strings.ReplaceAll(stream, `"cache_read_input_tokens":0`, `"cache_read_input_tokens":200`)
	broken, _ := llmtest.AnthropicStream(nil, &[2]int{10, 2})
	overloaded := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	server := llmtest.NewServer(t, llmtest.Reply{Raw: broken + overloaded}, llmtest.Reply{Raw: cached + ending})
	text, usage, err := llmtest.Collect(t.Context(), claude(t, server), hello)
	if err != nil || text != "Yes." || usage == nil || *usage != (llm.Usage{PromptTokens: 220, CompletionTokens: 3}) {
		t.Errorf("text %q, usage %+v, error %v", text, usage, err)
	}
}

func TestATemperatureThatAModelRefusesIsOmitted(t *testing.T) {
	t.Parallel()
	refusal := llmtest.Reply{Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"temperature: is deprecated for this model"}}`}
	server := llmtest.NewServer(t, refusal, llmtest.Reply{Parts: []string{"Yes."}})
	model := claude(t, server)
	for range 2 {
		if text, _, err := llmtest.Collect(t.Context(), model, hello); err != nil || text != "Yes." {
			t.Errorf("text %q, error %v", text, err)
		}
	}
	seen := server.Requests()
	if len(seen) != 3 || seen[0].Body["temperature"] == nil || seen[1].Body["temperature"] != nil || seen[2].Body["temperature"] != nil {
		t.Errorf("%d requests: %v", len(seen), seen)
	}
}

func TestAnthropicIgnoresTheEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-other")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "other")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"Yes."}})
	if _, _, err := llmtest.Collect(t.Context(), claude(t, server), hello); err != nil {
		t.Fatal(err)
	}
	if seen := server.Requests()[0]; seen.APIKey != key || seen.Authorization != "" {
		t.Errorf("headers %v", seen.Header)
	}
}
