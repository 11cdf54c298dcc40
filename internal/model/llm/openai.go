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

// An OpenAI is a chat model of the OpenAI chat completions protocol. It is safe for concurrent use.
type OpenAI struct {
	cfg    Config
	client *openai.Client
	// without says which options of the protocol the service does not know.
	without omissions
}

// omissions are options of the protocol that are left out of requests.
type omissions struct {
	// choice is tool_choice. Requests with ToolsOff tell of earlier calls in words, since the service would offer the tools.
	choice bool
	// usage is stream_options; the usage is counted instead.
	usage bool
}

var _ ChatModel = (*OpenAI)(nil)

// NewOpenAI returns a model of a service with the OpenAI chat completions protocol. The error names the invalid setting.
func NewOpenAI(cfg Config) (*OpenAI, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	settings := openai.DefaultConfig(cfg.Key)
	settings.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	return newOpenAI(cfg, settings), nil
}

func newOpenAI(cfg Config, settings openai.ClientConfig) *OpenAI {
	settings.HTTPClient = &provider.Doer{Client: cfg.HTTPClient, Body: newEventLines}
	settings.EmptyMessagesLimit = math.MaxInt32
	return &OpenAI{cfg: cfg, client: openai.NewClientWithConfig(settings)}
}

// Name implements ChatModel.
func (m *OpenAI) Name() string { return m.cfg.Name }

// Limits returns the token limits of the model.
func (m *OpenAI) Limits() Limits { return m.cfg.Limits }

// Close ends idle connections.
func (m *OpenAI) Close() { m.cfg.HTTPClient.CloseIdleConnections() }

// Stream implements ChatModel. Errors are *provider.Error. A request that fails with a temporary error before the first part
// of the answer is retried once, after the time that the service asks for.
func (m *OpenAI) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return stream(ctx, &m.cfg, request, m.ask)
}

// completion returns the request in the protocol.
func (m *OpenAI) completion(request Request) openai.ChatCompletionRequest {
	if m.without.choice && request.ToolsOff {
		request.Messages, request.Tools = inWords(request.Messages), nil
	}
	body := openai.ChatCompletionRequest{Model: m.cfg.modelOf(request), Messages: make([]openai.ChatCompletionMessage, len(request.Messages)), Stream: true}
	if !m.without.usage {
		body.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
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
		body.MaxCompletionTokens = m.cfg.maxTokens(request) // these models do not accept a temperature either
		return body
	}
	body.MaxTokens = m.cfg.maxTokens(request) //nolint:staticcheck // other services know only this name
	body.Temperature = request.Temperature
	if body.Temperature == 0 {
		body.Temperature = math.SmallestNonzeroFloat32 // a zero would be omitted and mean the default of the service
	}
	return body
}

// openaiMessage returns a message in the protocol.
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

// isReasoning reports whether a model of OpenAI reasons before it answers.
func isReasoning(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

// ask makes one request and yields its answer.
func (m *OpenAI) ask(ctx context.Context, a *attempt) error {
	lines := &eventLines{}
	parts, err := m.client.CreateChatCompletionStream(context.WithValue(ctx, linesKey{}, lines), m.completion(a.request))
	if err != nil {
		return provider.Classify(ctx, "chat", err, a.note, m.cfg.Key)
	}
	defer func() { _ = parts.Close() }() // the answer is complete or has failed
	finish := openai.FinishReason("")
	for {
		part, err := parts.Recv()
		a.stopTimer()
		if failure := lines.failure(m.cfg.Key); failure != nil {
			return failure
		}
		if errors.Is(err, io.EOF) {
			return endError(lines, finish)
		}
		if err != nil {
			return provider.Classify(ctx, "chat", err, a.note, m.cfg.Key)
		}
		if part.Usage != nil {
			a.usage = &Usage{PromptTokens: part.Usage.PromptTokens, CompletionTokens: part.Usage.CompletionTokens}
		}
		for _, choice := range part.Choices {
			if choice.Index != 0 {
				continue
			}
			if choice.FinishReason != "" {
				finish = choice.FinishReason
				a.finish = openaiFinish(finish)
			}
			if !a.yieldText(choice.Delta.Content) {
				return nil
			}
			for _, piece := range choice.Delta.ToolCalls {
				slot := -1
				if piece.Index != nil && *piece.Index >= 0 {
					slot = *piece.Index
				}
				if err := a.calls.add(slot, piece.ID, piece.Function.Name, piece.Function.Arguments); err != nil {
					return err
				}
			}
		}
		a.startTimer()
	}
}

// openaiFinish converts a finish reason.
func openaiFinish(reason openai.FinishReason) Finish {
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

// endError returns an error for a refused answer and for one whose connection was closed early.
func endError(lines *eventLines, finish openai.FinishReason) error {
	switch {
	case finish == openai.FinishReasonContentFilter:
		return &provider.Error{Kind: provider.KindRefused, Op: "chat", Message: "the service's content filter stopped the answer"}
	case finish == "" && !lines.done:
		return &provider.Error{Kind: provider.KindInterrupted, Op: "chat", Message: "the answer broke off"}
	}
	return nil
}
