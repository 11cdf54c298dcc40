package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/testkit/cloudkeys"
)

// A converse is a stand-in of Bedrock's ConverseStream. It answers with replies in order and repeats the last one.
type converse struct {
	t *testing.T

	mu      sync.Mutex
	replies []http.HandlerFunc
	bodies  []map[string]any
}

func (c *converse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.URL.RequestURI(); r.Method != http.MethodPost || got != "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream" {
		c.t.Errorf("%s %s", r.Method, got)
	}
	signature := r.Header.Get("Authorization")
	if !strings.HasPrefix(signature, "AWS4-HMAC-SHA256 Credential="+cloudkeys.AccessKey+"/") || !strings.Contains(signature, "/eu-central-1/bedrock/aws4_request, SignedHeaders=") || r.Header.Get("X-Amz-Date") == "" {
		c.t.Errorf("the request is not signed: %q", signature)
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		c.t.Errorf("the body is no JSON: %v", err)
	}
	c.mu.Lock()
	c.bodies = append(c.bodies, body)
	reply := c.replies[0]
	if len(c.replies) > 1 {
		c.replies = c.replies[1:]
	}
	c.mu.Unlock()
	reply(w, r)
}

// refuses returns a documented failure.
func refuses(status int, kind, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Errortype", kind)
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"message":"`+message+`"}`)
	}
}

// A part is one of a stream: its type and its JSON.
type part struct{ kind, body string }

// streams returns events in AWS's binary encoding.
func streams(events ...part) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		encoder := eventstream.NewEncoder()
		for _, e := range events {
			kind, name := "event", ":event-type"
			if strings.HasSuffix(e.kind, "Exception") {
				kind, name = "exception", ":exception-type"
			}
			var b bytes.Buffer
			_ = encoder.Encode(&b, eventstream.Message{Payload: []byte(e.body), Headers: eventstream.Headers{
				{Name: ":message-type", Value: eventstream.StringValue(kind)}, {Name: name, Value: eventstream.StringValue(e.kind)},
				{Name: ":content-type", Value: eventstream.StringValue("application/json")},
			}})
			_, _ = w.Write(b.Bytes())
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// cutsOff returns events of which the last has no end.
func cutsOff(events ...part) http.HandlerFunc {
	whole := httptest.NewRecorder()
	streams(events...)(whole, nil)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()-5])
	}
}

func says(parts ...string) []part {
	events := []part{{"messageStart", `{"role":"assistant"}`}}
	for _, text := range parts {
		quoted, _ := json.Marshal(text) // a string cannot fail
		events = append(events, part{"contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":` + string(quoted) + `}}`})
	}
	return append(events, part{"contentBlockStop", `{"contentBlockIndex":0}`})
}

func ends(reason string) []part {
	return []part{
		{"messageStop", `{"stopReason":"` + reason + `"}`},
		{"metadata", `{"usage":{"inputTokens":30,"outputTokens":12,"totalTokens":42},"metrics":{"latencyMs":5}}`},
	}
}

func newBedrock(t *testing.T, waited *time.Duration, replies ...http.HandlerFunc) (*llm.Bedrock, *converse) {
	t.Helper()
	c := &converse{t: t, replies: replies}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	model, err := llm.NewBedrock(llm.Config{
		Name: "test", BaseURL: server.URL, Model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
		Sleep: func(_ context.Context, d time.Duration) error {
			if waited != nil {
				*waited = d
			}
			return nil
		},
	}, "eu-central-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model, c
}

func TestBedrockKeepsTheContract(t *testing.T) {
	t.Parallel()
	model, _ := newBedrock(t, nil, streams(slices.Concat(says("two", " words"), ends("end_turn"))...))
	llmtest.Run(t, model)
}

func TestBedrockStreamsTextAndCalls(t *testing.T) {
	t.Parallel()
	calling := slices.Concat(says("Let me ", "look."), []part{
		{"contentBlockStart", `{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"tooluse_a","name":"weather"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"town\":"}}}`},
		{"contentBlockDelta", `{"contentBlockIndex":1,"delta":{"toolUse":{"input":"\"Bern\"}"}}}`},
		{"contentBlockStop", `{"contentBlockIndex":1}`},
	}, ends("tool_use"))
	model, c := newBedrock(t, nil, streams(calling...), streams(slices.Concat(says("Rain."), ends("end_turn"))...))
	request := llm.Request{
		MaxTokens: 100, Messages: []llm.Message{{Role: llm.RoleSystem, Content: "Be short."}, {Role: llm.RoleUser, Content: "Weather?"}},
		Tools: []llm.Tool{{Name: "weather", Description: "the weather of a town", Schema: json.RawMessage(`{"type":"object","properties":{"town":{"type":"string"}}}`)}},
	}
	text, calls, finish, err := llmtest.CollectCalls(t, model, request)
	if want := []llm.ToolCall{{ID: "tooluse_a", Name: "weather", Arguments: `{"town":"Bern"}`}}; err != nil || text != "Let me look." || !slices.Equal(calls, want) || finish != llm.FinishTools {
		t.Fatalf("text %q, calls %+v, finish %q, error %v", text, calls, finish, err)
	}
	body := func(i int) string {
		content, _ := json.Marshal(c.bodies[i]) // it was JSON
		return string(content)
	}
	if want := `{"inferenceConfig":{"maxTokens":100,"temperature":0},"messages":[{"content":[{"text":"Weather?"}],"role":"user"}],"system":[{"text":"Be short."}],` +
		`"toolConfig":{"tools":[{"toolSpec":{"description":"the weather of a town","inputSchema":{"json":{"properties":{"town":{"type":"string"}},"type":"object"}},"name":"weather"}}]}}`; body(0) != want {
		t.Errorf("the request is %s, want %s", body(0), want)
	}
	request.Messages = append(request.Messages, llm.Message{Role: llm.RoleAssistant, Content: text, Calls: calls},
		llm.Message{Role: llm.RoleTool, CallID: "tooluse_a", Content: "no such town", Failed: true}, llm.Message{Role: llm.RoleUser, Content: "Answer now."})
	if text, _, finish, err = llmtest.CollectCalls(t, model, request); err != nil || text != "Rain." || finish != llm.FinishStop {
		t.Errorf("text %q, finish %q, error %v", text, finish, err)
	}
	if want := `{"content":[{"text":"Let me look."},{"toolUse":{"input":{"town":"Bern"},"name":"weather","toolUseId":"tooluse_a"}}],"role":"assistant"},` +
		`{"content":[{"toolResult":{"content":[{"text":"no such town"}],"status":"error","toolUseId":"tooluse_a"}},{"text":"Answer now."}],"role":"user"}`; !strings.Contains(body(1), want) {
		t.Errorf("the request is %s, want %s in it", body(1), want)
	}
	// Without tools, which the service would offer, earlier calls are told in words.
	request.ToolsOff = true
	if _, _, _, err := llmtest.CollectCalls(t, model, request); err != nil || strings.Contains(body(2), "tool") && !strings.Contains(body(2), "tooluse_a") || strings.Contains(body(2), "toolConfig") ||
		!strings.Contains(body(2), `The result of the call tooluse_a: no such town`) {
		t.Errorf("error %v, the request is %s", err, body(2))
	}
}

func TestBedrocksFailuresAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]struct {
		reply http.HandlerFunc
		kind  provider.Kind
		says  string
	}{
		"no permission": {refuses(403, "AccessDeniedException", "You don't have access to the model with the specified model ID."), provider.KindAuth, "don't have access"},
		"too long":      {refuses(400, "ValidationException", "Input is too long: prompt is too long"), provider.KindContextLength, "too long"},
		"not valid":     {refuses(400, "ValidationException", "The provided model identifier is invalid."), provider.KindInvalid, "identifier"},
		"away":          {refuses(503, "ServiceUnavailableException", "Bedrock is unable to process your request."), provider.KindUnavailable, "unable"},
		"busy":          {refuses(429, "ThrottlingException", "Too many requests"), provider.KindRateLimited, "Too many"},
		"within":        {streams(append(says("Let "), part{"throttlingException", `{"message":"Too many tokens"}`})...), provider.KindContextLength, ""},
		"cut within":    {cutsOff(says("Let ", "me look.")...), provider.KindInterrupted, "broke off"},
		"broken off":    {streams(says("Let ")...), provider.KindInterrupted, "broke off"},
		"filtered":      {streams(append(says("Let "), ends("content_filtered")...)...), provider.KindRefused, "filter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, _ := newBedrock(t, nil, step.reply)
			var failure *provider.Error
			if _, _, err := llmtest.Collect(t.Context(), model, hello); !errors.As(err, &failure) || failure.Kind != step.kind || !strings.Contains(failure.Message, step.says) {
				t.Errorf("error %v, want the kind %s and %q", err, step.kind, step.says)
			}
		})
	}
}

func TestBedrockIsRetriedAfterARateLimit(t *testing.T) {
	t.Parallel()
	var waited time.Duration
	model, c := newBedrock(t, &waited, refuses(429, "ThrottlingException", "Too many requests"), streams(slices.Concat(says("a ", "word"), ends("end_turn"))...))
	if text, usage, err := llmtest.Collect(t.Context(), model, hello); err != nil || text != "a word" || usage == nil || usage.PromptTokens != 30 || usage.CompletionTokens != 12 || waited != 3*time.Second || len(c.bodies) != 2 {
		t.Errorf("text %q, usage %+v, waited %v, error %v", text, usage, waited, err)
	}
}

func TestBedrockLeavesOutATemperatureThatIsRefused(t *testing.T) {
	t.Parallel()
	model, c := newBedrock(t, nil, refuses(400, "ValidationException", "temperature is deprecated for this model"), streams(slices.Concat(says("a"), ends("end_turn"))...))
	if text, _, err := llmtest.Collect(t.Context(), model, hello); err != nil || text != "a" {
		t.Errorf("text %q, error %v", text, err)
	}
	if settings, _ := c.bodies[1]["inferenceConfig"].(map[string]any); settings["temperature"] != nil {
		t.Errorf("sent %v", c.bodies[1])
	}
}
