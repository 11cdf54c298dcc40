package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"magpie/internal/llm"
	"magpie/internal/llm/llmtest"
	"magpie/internal/llm/provider"
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

func collect(ctx context.Context, model llm.ChatModel, request llm.Request) (text string, usage *llm.Usage, err error) {
	for event, failure := range model.Stream(ctx, request) {
		text += event.Text
		if event.Usage != nil {
			usage = event.Usage
		}
		err = failure
	}
	return text, usage, err
}

func TestOpenAIKeepsTheContract(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"two", " words"}})
	llmtest.Run(t, newModel(t, server, nil))
}

func TestStreamAtOddByteBorders(t *testing.T) {
	t.Parallel()
	parts := []string{"Grüße, ", "数据库 ", "👍🏽 ", "\"quoted\" [DONE]\n\n", "data: x"}
	for _, pieces := range []int{0, 1, 3, 7, 64} {
		server := llmtest.NewServer(t, llmtest.Reply{Parts: parts, Usage: &[2]int{11, 7}, Pieces: pieces})
		text, usage, err := collect(t.Context(), newModel(t, server, nil), hello)
		if err != nil || text != strings.Join(parts, "") {
			t.Errorf("in pieces of %d: text %q, error %v", pieces, text, err)
		}
		if usage == nil || usage.PromptTokens != 11 || usage.CompletionTokens != 7 || usage.TotalTokens() != 18 {
			t.Errorf("usage %+v", usage)
		}
	}
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"a"}})
	request := hello
	request.MaxTokens, request.Temperature = 50, 0.5
	if _, _, err := collect(t.Context(), newModel(t, server, nil), request); err != nil {
		t.Fatal(err)
	}
	request.Model, request.Temperature = "o3-mini", 0
	if _, _, err := collect(t.Context(), newModel(t, server, nil), request); err != nil {
		t.Fatal(err)
	}
	request.Model = "other"
	if _, _, err := collect(t.Context(), newModel(t, server, nil), request); err != nil {
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

func TestUsageIsCountedWhenTheServiceDoesNotTell(t *testing.T) {
	t.Parallel()
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"Four words of text", "."}})
	_, usage, err := collect(t.Context(), newModel(t, server, nil), hello)
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
		"filtered":         {llmtest.Reply{Raw: "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n"}, provider.KindRefused, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, c.reply)
			text, usage, err := collect(t.Context(), newModel(t, server, nil), hello)
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

func TestRetryObeysRetryAfterWithinBounds(t *testing.T) {
	t.Parallel()
	busy := func(after string) llmtest.Reply {
		return llmtest.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": after}, Body: "{}"}
	}
	for after, c := range map[string]struct {
		wait time.Duration
		ok   bool
	}{"2": {2 * time.Second, true}, "0.25": {250 * time.Millisecond, true}, "": {500 * time.Millisecond, true}, "3600": {0, false}, "soon": {500 * time.Millisecond, true}} {
		server := llmtest.NewServer(t, busy(after), llmtest.Reply{Parts: []string{"at last"}})
		var waited []time.Duration
		model := newModel(t, server, func(cfg *llm.Config) {
			cfg.Sleep = func(_ context.Context, d time.Duration) error {
				waited = append(waited, d)
				return nil
			}
		})
		text, _, err := collect(t.Context(), model, hello)
		if c.ok != (err == nil && text == "at last") {
			t.Errorf("after %q: text %q, error %v", after, text, err)
		}
		if c.ok && (len(waited) != 1 || waited[0] != c.wait) {
			t.Errorf("after %q: waited %v, want %s", after, waited, c.wait)
		}
		var failure *provider.Error
		if !c.ok && (!errors.As(err, &failure) || failure.RetryAfter() != time.Hour || len(waited) != 0) {
			t.Errorf("after %q: error %v, waited %v", after, err, waited)
		}
	}
}

func TestSlowServicesAreGivenUp(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for name, reply := range map[string]llmtest.Reply{
		"first byte": {Hold: never}, "between parts": {Parts: []string{"Hel"}, HoldAfter: never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.NewServer(t, reply)
			model := newModel(t, server, func(cfg *llm.Config) {
				cfg.FirstByteTimeout, cfg.IdleTimeout = 200*time.Millisecond, 50*time.Millisecond
				cfg.HTTPClient = provider.NewHTTPClient(time.Second, time.Minute)
			})
			_, _, err := collect(t.Context(), model, hello)
			if !provider.IsKind(err, provider.KindTimeout) {
				t.Errorf("error %v", err)
			}
			<-server.Gone()
		})
	}
}

func TestProviderCallStopsWithTheConsumerAndTheContext(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	server := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"Hel", "lo"}, HoldAfter: never})
	model := newModel(t, server, nil)
	for range model.Stream(t.Context(), hello) {
		break
	}
	<-server.Gone()
	ctx, cancel := context.WithCancel(t.Context())
	var last error
	for event, err := range model.Stream(ctx, hello) {
		if event.Text == "lo" {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v", last)
	}
	<-server.Gone()
	cancel()
}

func TestUnreachableService(t *testing.T) {
	t.Parallel()
	model, err := llm.NewOpenAI(llm.Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m", Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = collect(t.Context(), model, hello); !provider.IsKind(err, provider.KindUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, cfg := range []llm.Config{{BaseURL: "http://h/v1"}, {Model: "m"}, {Model: "m", BaseURL: "ftp://h"}, {Model: "m", BaseURL: "h/v1"}} {
		if _, err := llm.NewOpenAI(cfg); err == nil {
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
