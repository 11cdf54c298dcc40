package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

const (
	// anthropicAnswer is how long an answer may be where neither the request nor the settings say; the protocol needs a number.
	anthropicAnswer = 4096
	// maxAnthropicStream is how much of one answer is read, events and all.
	maxAnthropicStream = 32 << 20
)

// Anthropic is a chat model behind Anthropic's Messages API. It is safe for concurrent use.
type Anthropic struct {
	cfg      Config
	messages anthropic.MessageService
	// untempered is set once the model has refused a temperature, as some do.
	untempered atomic.Bool
}

var _ ChatModel = (*Anthropic)(nil)

// NewAnthropic makes a model of a service that speaks Anthropic's Messages API; the base URL is meant without the version,
// which may stand there. The error names the setting that is wrong.
func NewAnthropic(cfg Config) (*Anthropic, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1") + "/"
	m := &Anthropic{cfg: cfg}
	// The service is made by itself and not by a client, which would read the environment.
	m.messages = anthropic.NewMessageService(
		option.WithBaseURL(base), option.WithAPIKey(cfg.Key), option.WithMaxRetries(0),
		option.WithHTTPClient(&provider.Doer{Client: cfg.HTTPClient, Body: boundedStream}),
	)
	return m, nil
}

// Name implements ChatModel.
func (m *Anthropic) Name() string { return m.cfg.Name }

// Limits are what the model takes and writes.
func (m *Anthropic) Limits() Limits { return m.cfg.Limits }

// Close ends idle connections.
func (m *Anthropic) Close() { m.cfg.HTTPClient.CloseIdleConnections() }

// Stream implements ChatModel. Errors are *provider.Error. A request that fails before the first part of the answer in a
// way that may pass is tried once more, after the time the service asks for.
func (m *Anthropic) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return stream(ctx, &m.cfg, request, m.ask)
}

// ask makes one request and yields its answer, a second one where the model takes no temperature.
func (m *Anthropic) ask(ctx context.Context, t *try) error {
	tempered := !m.untempered.Load()
	err := m.once(ctx, t, tempered)
	var failure *provider.Error
	if tempered && errors.As(err, &failure) && failure.Status == http.StatusBadRequest && strings.Contains(failure.Message, "temperature") {
		m.untempered.Store(true)
		return m.once(ctx, t, false)
	}
	return err
}

func (m *Anthropic) once(ctx context.Context, t *try, tempered bool) error {
	parts := m.messages.NewStreaming(ctx, m.params(t.request, tempered))
	defer func() { _ = parts.Close() }() // the answer is over, whatever closing says
	reason := anthropic.StopReason("")
	for parts.Next() {
		t.heard()
		switch part := parts.Current(); part.Type {
		case "message_start":
			t.usage = &Usage{PromptTokens: promptTokens(part.Message.Usage), CompletionTokens: int(part.Message.Usage.OutputTokens)}
		case "content_block_start":
			if !t.say(part.ContentBlock.Text) {
				return nil
			}
			if part.ContentBlock.Type == "tool_use" {
				if err := t.calls.add(int(part.Index), part.ContentBlock.ID, part.ContentBlock.Name, givenAtOnce(part.ContentBlock.Input)); err != nil {
					return err
				}
			}
		case "content_block_delta":
			if part.Delta.Type == "text_delta" && !t.say(part.Delta.Text) {
				return nil
			}
			if part.Delta.Type == "input_json_delta" {
				if err := t.calls.add(int(part.Index), "", "", part.Delta.PartialJSON); err != nil {
					return err
				}
			}
		case "message_delta":
			if part.Delta.StopReason != "" {
				reason = part.Delta.StopReason
				t.finish = whyStopped(reason)
			}
			if t.usage == nil {
				t.usage = &Usage{}
			}
			t.usage.CompletionTokens = int(part.Usage.OutputTokens) // it counts from the beginning
			if part.Usage.InputTokens > 0 {
				t.usage.PromptTokens = int(part.Usage.InputTokens + part.Usage.CacheCreationInputTokens + part.Usage.CacheReadInputTokens)
			}
		case "message_stop":
			return stopped(reason)
		}
		t.listen()
	}
	t.heard()
	if err := parts.Err(); err != nil {
		return m.failure(ctx, t, err)
	}
	return &provider.Error{Kind: provider.KindInterrupted, Op: "chat", Message: "the answer broke off"}
}

// stopped tells an answer from the refusal of one.
func stopped(reason anthropic.StopReason) error {
	if reason == anthropic.StopReasonRefusal {
		return &provider.Error{Kind: provider.KindRefused, Op: "chat", Message: "the model refused to answer"}
	}
	return nil
}

// whyStopped is why the model stopped, in our words.
func whyStopped(reason anthropic.StopReason) Finish {
	switch reason {
	case anthropic.StopReasonToolUse:
		return FinishTools
	case anthropic.StopReasonMaxTokens:
		return FinishLength
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence:
		return FinishStop
	default:
		return FinishUnknown
	}
}

// givenAtOnce is the input of a call that a service did not send in pieces; "" for the empty object that stands where
// pieces follow.
func givenAtOnce(input any) string {
	text, err := json.Marshal(input)
	if err != nil || string(text) == "null" || string(text) == "{}" {
		return ""
	}
	return string(text)
}

func promptTokens(u anthropic.Usage) int {
	return int(u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens)
}

// params is the request as the protocol has it: the system's messages apart, the others in turns.
func (m *Anthropic) params(request Request, tempered bool) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{Model: anthropic.Model(m.cfg.named(request)), MaxTokens: int64(m.cfg.longest(request))}
	if params.MaxTokens == 0 {
		params.MaxTokens = anthropicAnswer
	}
	if tempered {
		params.Temperature = anthropic.Float(float64(min(request.Temperature, 1)))
	}
	for _, tool := range request.Tools {
		params.Tools = append(params.Tools, anthropicTool(tool))
	}
	if request.ToolsOff && len(request.Tools) > 0 {
		none := anthropic.NewToolChoiceNoneParam()
		params.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &none}
	}
	for _, message := range request.Messages {
		if message.Role == RoleSystem {
			if strings.TrimSpace(message.Content) != "" { // the service refuses an empty one
				params.System = append(params.System, anthropic.TextBlockParam{Text: message.Content})
			}
			continue
		}
		role := anthropic.MessageParamRoleUser
		if message.Role == RoleAssistant {
			role = anthropic.MessageParamRoleAssistant
		}
		blocks := anthropicBlocks(message)
		if len(blocks) == 0 {
			continue
		}
		if last := len(params.Messages) - 1; last >= 0 && params.Messages[last].Role == role {
			params.Messages[last].Content = append(params.Messages[last].Content, blocks...)
			continue
		}
		params.Messages = append(params.Messages, anthropic.MessageParam{Role: role, Content: blocks})
	}
	return params
}

// anthropicBlocks are the parts of a turn as the protocol has them.
func anthropicBlocks(message Message) []anthropic.ContentBlockParamUnion {
	if message.Role == RoleTool {
		return []anthropic.ContentBlockParamUnion{anthropic.NewToolResultBlock(message.CallID, message.resultText(), message.Failed)}
	}
	var blocks []anthropic.ContentBlockParamUnion
	if strings.TrimSpace(message.Content) != "" {
		blocks = append(blocks, anthropic.NewTextBlock(message.Content))
	}
	for _, call := range message.Calls {
		blocks = append(blocks, anthropic.NewToolUseBlock(call.ID, json.RawMessage(call.object()), call.Name))
	}
	return blocks
}

// anthropicTool is a tool as the protocol has it.
func anthropicTool(tool Tool) anthropic.ToolUnionParam {
	var schema map[string]any
	_ = json.Unmarshal(tool.Schema, &schema) // what is no object describes none
	delete(schema, "type")                   // the library writes it
	param := anthropic.ToolParam{Name: tool.Name, InputSchema: anthropic.ToolInputSchemaParam{ExtraFields: schema}}
	if tool.Description != "" {
		param.Description = anthropic.String(tool.Description)
	}
	return anthropic.ToolUnionParam{OfTool: &param}
}

// failure turns an error of the client library into one of package provider.
func (m *Anthropic) failure(ctx context.Context, t *try, err error) error {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return provider.Classify(ctx, "chat", err, t.note, m.cfg.Key)
	}
	var said struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(api.RawJSON()), &said) // a body of another kind says nothing
	status := api.StatusCode
	if status < http.StatusBadRequest {
		status = 0 // told in the middle of an answer
	}
	if said.Error.Message == "" {
		said.Error.Message = http.StatusText(status)
	}
	return provider.FromResponse("chat", status, said.Error.Type, said.Error.Message, t.note, m.cfg.Key)
}

// boundedStream ends a body that goes on for ever.
func boundedStream(_ *http.Request, body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, maxAnthropicStream), body}
}
