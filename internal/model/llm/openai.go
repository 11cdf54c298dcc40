package llm

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// OpenAI is a chat model behind the OpenAI protocol. It is safe for concurrent use.
type OpenAI struct {
	cfg    Config
	client *openai.Client
}

var _ ChatModel = (*OpenAI)(nil)

// NewOpenAI makes a model of a service that speaks the OpenAI chat completions protocol. The error names the setting that
// is wrong.
func NewOpenAI(cfg Config) (*OpenAI, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	settings := openai.DefaultConfig(cfg.Key)
	settings.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	settings.HTTPClient = &provider.Doer{Client: cfg.HTTPClient, Body: newEventLines}
	settings.EmptyMessagesLimit = math.MaxInt32
	return &OpenAI{cfg: cfg, client: openai.NewClientWithConfig(settings)}, nil
}

// Name implements ChatModel.
func (m *OpenAI) Name() string { return m.cfg.Name }

// Limits are what the model takes and writes.
func (m *OpenAI) Limits() Limits { return m.cfg.Limits }

// Close ends idle connections.
func (m *OpenAI) Close() { m.cfg.HTTPClient.CloseIdleConnections() }

// Stream implements ChatModel. Errors are *provider.Error. A request that fails before the first part of the answer in a
// way that may pass is tried once more, after the time the service asks for.
func (m *OpenAI) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return stream(ctx, &m.cfg, request, m.ask)
}

// completion is the request as the protocol has it.
func (m *OpenAI) completion(request Request) openai.ChatCompletionRequest {
	body := openai.ChatCompletionRequest{
		Model: m.cfg.named(request), Messages: make([]openai.ChatCompletionMessage, len(request.Messages)), Stream: true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	for i, message := range request.Messages {
		body.Messages[i] = openaiMessage(message)
	}
	for _, tool := range request.Tools {
		body.Tools = append(body.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: tool.Name, Description: tool.Description, Parameters: tool.Schema,
		}})
	}
	if request.ToolsOff && len(request.Tools) > 0 {
		body.ToolChoice = "none"
	}
	if isReasoning(body.Model) {
		body.MaxCompletionTokens = m.cfg.longest(request) // these models take no temperature either
		return body
	}
	body.MaxTokens = m.cfg.longest(request) //nolint:staticcheck // the name that other services and local servers know
	body.Temperature = request.Temperature
	if body.Temperature == 0 {
		body.Temperature = math.SmallestNonzeroFloat32 // a zero is left out on the wire and would mean the service's default
	}
	return body
}

// openaiMessage is a turn as the protocol has it.
func openaiMessage(m Message) openai.ChatCompletionMessage {
	message := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content}
	if m.Role == RoleTool {
		message.Content, message.ToolCallID = m.resultText(), m.CallID
	}
	for _, call := range m.Calls {
		message.ToolCalls = append(message.ToolCalls, openai.ToolCall{
			ID: call.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: call.Name, Arguments: call.object()},
		})
	}
	return message
}

// isReasoning recognises the models of OpenAI that reason before they answer.
func isReasoning(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

// ask makes one request and yields its answer.
func (m *OpenAI) ask(ctx context.Context, t *try) error {
	lines := &eventLines{}
	parts, err := m.client.CreateChatCompletionStream(context.WithValue(ctx, linesKey{}, lines), m.completion(t.request))
	if err != nil {
		return provider.Classify(ctx, "chat", err, t.note, m.cfg.Key)
	}
	defer func() { _ = parts.Close() }() // the answer is over, whatever closing says
	finish := openai.FinishReason("")
	for {
		part, err := parts.Recv()
		t.heard()
		if failure := lines.failure(m.cfg.Key); failure != nil {
			return failure
		}
		if errors.Is(err, io.EOF) {
			return end(lines, finish)
		}
		if err != nil {
			return provider.Classify(ctx, "chat", err, t.note, m.cfg.Key)
		}
		if part.Usage != nil {
			t.usage = &Usage{PromptTokens: part.Usage.PromptTokens, CompletionTokens: part.Usage.CompletionTokens}
		}
		for _, choice := range part.Choices {
			if choice.Index != 0 {
				continue
			}
			if choice.FinishReason != "" {
				finish = choice.FinishReason
				t.finish = finishOf(finish)
			}
			if !t.say(choice.Delta.Content) {
				return nil
			}
			for _, piece := range choice.Delta.ToolCalls {
				slot := -1
				if piece.Index != nil && *piece.Index >= 0 {
					slot = *piece.Index
				}
				if err := t.calls.add(slot, piece.ID, piece.Function.Name, piece.Function.Arguments); err != nil {
					return err
				}
			}
		}
		t.listen()
	}
}

// finishOf is why the model stopped, in our words.
func finishOf(reason openai.FinishReason) Finish {
	switch reason {
	case openai.FinishReasonStop:
		return FinishStop
	case openai.FinishReasonLength:
		return FinishLength
	case openai.FinishReasonToolCalls, openai.FinishReasonFunctionCall:
		return FinishTools
	case openai.FinishReasonContentFilter, openai.FinishReasonNull:
	}
	return FinishUnknown
}

// end tells a complete answer from one that was refused or whose connection was closed in the middle.
func end(lines *eventLines, finish openai.FinishReason) error {
	switch {
	case finish == openai.FinishReasonContentFilter:
		return &provider.Error{Kind: provider.KindRefused, Op: "chat", Message: "the service's content filter stopped the answer"}
	case finish == "" && !lines.done:
		return &provider.Error{Kind: provider.KindInterrupted, Op: "chat", Message: "the answer broke off"}
	}
	return nil
}
