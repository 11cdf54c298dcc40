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
	// anthropicMaxTokens is the default of max_tokens, which the protocol requires.
	anthropicMaxTokens = 4096
	// maxAnthropicStream is the largest number of bytes of an answer that is read, with all events.
	maxAnthropicStream = 32 << 20
)

// An Anthropic is a chat model of Anthropic's Messages API. It is safe for concurrent use.
type Anthropic struct {
	cfg      Config
	messages anthropic.MessageService
	// noTemperature is set when the model has refused a temperature, as some do.
	noTemperature atomic.Bool
}

var _ ChatModel = (*Anthropic)(nil)

// NewAnthropic returns a model of a service with Anthropic's Messages API. The base URL need not contain the version. The
// error names the invalid setting.
func NewAnthropic(cfg Config) (*Anthropic, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1") + "/"
	m := &Anthropic{cfg: cfg}
	// A client of the library would read the environment; a bare service does not.
	m.messages = anthropic.NewMessageService(
		option.WithBaseURL(base), option.WithAPIKey(cfg.Key), option.WithMaxRetries(0),
		option.WithHTTPClient(&provider.Doer{Client: cfg.HTTPClient, Body: limitStream}),
	)
	return m, nil
}

// Name implements ChatModel.
func (m *Anthropic) Name() string { return m.cfg.Name }

// Limits returns the token limits of the model.
func (m *Anthropic) Limits() Limits { return m.cfg.Limits }

// Close ends idle connections.
func (m *Anthropic) Close() { m.cfg.HTTPClient.CloseIdleConnections() }

// Stream implements ChatModel. Errors are *provider.Error. A request that fails with a temporary error before the first part
// of the answer is retried once, after the time that the service asks for.
func (m *Anthropic) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return stream(ctx, &m.cfg, request, m.ask)
}

// ask makes one request and yields its answer. If the model refuses the temperature, it makes a second one without.
func (m *Anthropic) ask(ctx context.Context, a *attempt) error {
	withTemperature := !m.noTemperature.Load()
	err := m.askOnce(ctx, a, withTemperature)
	var failure *provider.Error
	if withTemperature && errors.As(err, &failure) && failure.Status == http.StatusBadRequest && strings.Contains(failure.Message, "temperature") {
		m.noTemperature.Store(true)
		return m.askOnce(ctx, a, false)
	}
	return err
}

func (m *Anthropic) askOnce(ctx context.Context, a *attempt, withTemperature bool) error {
	parts := m.messages.NewStreaming(ctx, m.params(a.request, withTemperature))
	defer func() { _ = parts.Close() }() // the answer is complete or has failed
	reason := anthropic.StopReason("")
	for parts.Next() {
		a.stopTimer()
		switch part := parts.Current(); part.Type {
		case "message_start":
			a.usage = &Usage{PromptTokens: promptTokens(part.Message.Usage), CompletionTokens: int(part.Message.Usage.OutputTokens)}
		case "content_block_start":
			if !a.yieldText(part.ContentBlock.Text) {
				return nil
			}
			if part.ContentBlock.Type == "tool_use" {
				if err := a.calls.add(int(part.Index), part.ContentBlock.ID, part.ContentBlock.Name, completeInput(part.ContentBlock.Input)); err != nil {
					return err
				}
			}
		case "content_block_delta":
			if part.Delta.Type == "text_delta" && !a.yieldText(part.Delta.Text) {
				return nil
			}
			if part.Delta.Type == "input_json_delta" {
				if err := a.calls.add(int(part.Index), "", "", part.Delta.PartialJSON); err != nil {
					return err
				}
			}
		case "message_delta":
			if part.Delta.StopReason != "" {
				reason = part.Delta.StopReason
				a.finish = anthropicFinish(reason)
			}
			if a.usage == nil {
				a.usage = &Usage{}
			}
			a.usage.CompletionTokens = int(part.Usage.OutputTokens) // cumulative
			if part.Usage.InputTokens > 0 {
				a.usage.PromptTokens = int(part.Usage.InputTokens + part.Usage.CacheCreationInputTokens + part.Usage.CacheReadInputTokens)
			}
		case "message_stop":
			return refusedError(reason)
		}
		a.startTimer()
	}
	a.stopTimer()
	if err := parts.Err(); err != nil {
		return m.failure(ctx, a, err)
	}
	return &provider.Error{Kind: provider.KindInterrupted, Op: "chat", Message: "the answer broke off"}
}

// refusedError returns an error if the model refused to answer.
func refusedError(reason anthropic.StopReason) error {
	if reason == anthropic.StopReasonRefusal {
		return &provider.Error{Kind: provider.KindRefused, Op: "chat", Message: "the model refused to answer"}
	}
	return nil
}

// anthropicFinish converts a stop reason.
func anthropicFinish(reason anthropic.StopReason) Finish {
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

// completeInput returns the input of a call that a service sends at once. It returns "" for an empty object, which a
// service sends if deltas follow.
func completeInput(input any) string {
	text, err := json.Marshal(input)
	if err != nil || string(text) == "null" || string(text) == "{}" {
		return ""
	}
	return string(text)
}

func promptTokens(u anthropic.Usage) int {
	return int(u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens)
}

// params returns the request in the protocol: system messages are separate, and the others alternate in role.
func (m *Anthropic) params(request Request, withTemperature bool) anthropic.MessageNewParams {
	params := anthropic.MessageNewParams{Model: anthropic.Model(m.cfg.modelOf(request)), MaxTokens: int64(m.cfg.maxTokens(request))}
	if params.MaxTokens == 0 {
		params.MaxTokens = anthropicMaxTokens
	}
	if withTemperature {
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
			if strings.TrimSpace(message.Content) != "" { // the service refuses empty blocks
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

// anthropicBlocks returns the content blocks of a message.
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

// anthropicTool returns a tool in the protocol.
func anthropicTool(tool Tool) anthropic.ToolUnionParam {
	var schema map[string]any
	_ = json.Unmarshal(tool.Schema, &schema) // an invalid schema describes no arguments
	delete(schema, "type")                   // the library writes it
	param := anthropic.ToolParam{Name: tool.Name, InputSchema: anthropic.ToolInputSchemaParam{ExtraFields: schema}}
	if tool.Description != "" {
		param.Description = anthropic.String(tool.Description)
	}
	return anthropic.ToolUnionParam{OfTool: &param}
}

// failure turns an error of the client library into one of package provider.
func (m *Anthropic) failure(ctx context.Context, a *attempt, err error) error {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		return provider.Classify(ctx, "chat", err, a.note, m.cfg.Key)
	}
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(api.RawJSON()), &body) // another body has no message
	status := api.StatusCode
	if status < http.StatusBadRequest {
		status = 0 // an error event within an answer
	}
	if body.Error.Message == "" {
		body.Error.Message = http.StatusText(status)
	}
	return provider.FromResponse("chat", status, body.Error.Type, body.Error.Message, a.note, m.cfg.Key)
}

// limitStream limits the bytes of a body.
func limitStream(_ *http.Request, body io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, maxAnthropicStream), body}
}
