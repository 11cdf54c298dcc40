package llm

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/magpie-search/magpie/internal/model/bedrock"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Bedrock is a chat model in Amazon Bedrock, by its Converse interface, which is the same for the models of all
// publishers. It is safe for concurrent use.
type Bedrock struct {
	cfg    Config
	client *bedrock.Client
	// noTemperature is set when the model has refused a temperature, as some do.
	noTemperature atomic.Bool
}

var _ ChatModel = (*Bedrock)(nil)

// NewBedrock returns a model in a region. The base URL is that of the region when empty. The error names the invalid setting.
func NewBedrock(cfg Config, region string) (*Bedrock, error) {
	endpoint := cfg.BaseURL
	if endpoint == "" {
		cfg.BaseURL = "https://bedrock-runtime." + region + ".amazonaws.com"
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Bedrock{cfg: cfg, client: bedrock.New(region, endpoint, cfg.HTTPClient)}, nil
}

// Name implements ChatModel.
func (m *Bedrock) Name() string { return m.cfg.Name }

// Limits returns the token limits of the model.
func (m *Bedrock) Limits() Limits { return m.cfg.Limits }

// Close ends idle connections.
func (m *Bedrock) Close() { m.client.Close() }

// Stream implements ChatModel. Errors are *provider.Error. A request that fails with a temporary error before the first part
// of the answer is retried once, after the time that the service asks for.
func (m *Bedrock) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return stream(ctx, &m.cfg, request, m.ask)
}

// ask makes one request and yields its answer. If the model refuses the temperature, it makes a second one without.
func (m *Bedrock) ask(ctx context.Context, a *attempt) error {
	withTemperature := !m.noTemperature.Load()
	err := m.askOnce(ctx, a, withTemperature)
	var failure *provider.Error
	if withTemperature && errors.As(err, &failure) && failure.Status == http.StatusBadRequest && strings.Contains(failure.Message, "temperature") {
		m.noTemperature.Store(true)
		return m.askOnce(ctx, a, false)
	}
	return err
}

func (m *Bedrock) askOnce(ctx context.Context, a *attempt, withTemperature bool) error {
	runtime, err := m.client.Runtime(ctx, "chat")
	if err != nil {
		return err
	}
	answer, err := runtime.ConverseStream(ctx, m.input(a.request, withTemperature))
	if err != nil {
		return bedrock.Failure(ctx, "chat", err, a.note)
	}
	parts := answer.GetStream()
	defer func() { _ = parts.Close() }() // the answer is complete or has failed
	reason := types.StopReason("")
	for part := range parts.Events() {
		a.stopTimer()
		switch part := part.(type) {
		case *types.ConverseStreamOutputMemberContentBlockStart:
			if tool, ok := part.Value.Start.(*types.ContentBlockStartMemberToolUse); ok {
				if err := a.calls.add(int(orZero(part.Value.ContentBlockIndex)), orZero(tool.Value.ToolUseId), orZero(tool.Value.Name), ""); err != nil {
					return err
				}
			}
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch delta := part.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				if !a.yieldText(delta.Value) {
					return nil
				}
			case *types.ContentBlockDeltaMemberToolUse:
				if err := a.calls.add(int(orZero(part.Value.ContentBlockIndex)), "", "", orZero(delta.Value.Input)); err != nil {
					return err
				}
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			reason = part.Value.StopReason
			a.finish = bedrockFinish(reason)
		case *types.ConverseStreamOutputMemberMetadata:
			if usage := part.Value.Usage; usage != nil {
				a.usage = &Usage{
					PromptTokens:     int(orZero(usage.InputTokens) + orZero(usage.CacheReadInputTokens) + orZero(usage.CacheWriteInputTokens)),
					CompletionTokens: int(orZero(usage.OutputTokens)),
				}
			}
		}
		a.startTimer()
	}
	a.stopTimer()
	switch err := parts.Err(); {
	case ctx.Err() != nil:
		return provider.Classify(ctx, "chat", ctx.Err(), a.note, "")
	case err != nil:
		return bedrock.Failure(ctx, "chat", err, a.note)
	case reason == types.StopReasonContentFiltered || reason == types.StopReasonGuardrailIntervened:
		return &provider.Error{Kind: provider.KindRefused, Op: "chat", Message: "the service's content filter stopped the answer"}
	case reason == "":
		return &provider.Error{Kind: provider.KindInterrupted, Op: "chat", Message: "the answer broke off"}
	}
	return nil
}

func orZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

// bedrockFinish converts a stop reason.
func bedrockFinish(reason types.StopReason) Finish {
	switch reason {
	case types.StopReasonEndTurn, types.StopReasonStopSequence:
		return FinishStop
	case types.StopReasonToolUse:
		return FinishTools
	case types.StopReasonMaxTokens, types.StopReasonModelContextWindowExceeded:
		return FinishLength
	}
	return FinishUnknown
}

// input returns the request in the protocol: system messages are separate, and the others alternate in role. The protocol
// cannot show tools and forbid calls, so that a request with ToolsOff tells of earlier calls in words.
func (m *Bedrock) input(request Request, withTemperature bool) *bedrockruntime.ConverseStreamInput {
	model := m.cfg.modelOf(request)
	in := &bedrockruntime.ConverseStreamInput{ModelId: &model, InferenceConfig: &types.InferenceConfiguration{}}
	if limit := m.cfg.maxTokens(request); limit > 0 {
		in.InferenceConfig.MaxTokens = new(int32(limit)) //nolint:gosec // the settings limit it
	}
	if withTemperature {
		in.InferenceConfig.Temperature = new(min(request.Temperature, 1))
	}
	withTools := len(request.Tools) > 0 && !request.ToolsOff
	if withTools {
		in.ToolConfig = &types.ToolConfiguration{}
		for _, tool := range request.Tools {
			in.ToolConfig.Tools = append(in.ToolConfig.Tools, bedrockTool(tool))
		}
	}
	messages := request.Messages
	if !withTools {
		messages = inWords(messages)
	}
	for _, message := range messages {
		if message.Role == RoleSystem {
			if strings.TrimSpace(message.Content) != "" { // the service refuses empty blocks
				in.System = append(in.System, &types.SystemContentBlockMemberText{Value: message.Content})
			}
			continue
		}
		role := types.ConversationRoleUser
		if message.Role == RoleAssistant {
			role = types.ConversationRoleAssistant
		}
		blocks := bedrockBlocks(message)
		if len(blocks) == 0 {
			continue
		}
		if last := len(in.Messages) - 1; last >= 0 && in.Messages[last].Role == role {
			in.Messages[last].Content = append(in.Messages[last].Content, blocks...)
			continue
		}
		in.Messages = append(in.Messages, types.Message{Role: role, Content: blocks})
	}
	return in
}

// bedrockBlocks returns the content blocks of a message.
func bedrockBlocks(message Message) []types.ContentBlock {
	if message.Role == RoleTool {
		result := types.ToolResultBlock{
			ToolUseId: &message.CallID, Content: []types.ToolResultContentBlock{&types.ToolResultContentBlockMemberText{Value: message.resultText()}},
		}
		if message.Failed {
			result.Status = types.ToolResultStatusError
		}
		return []types.ContentBlock{&types.ContentBlockMemberToolResult{Value: result}}
	}
	var blocks []types.ContentBlock
	if strings.TrimSpace(message.Content) != "" {
		blocks = append(blocks, &types.ContentBlockMemberText{Value: message.Content})
	}
	for _, call := range message.Calls {
		blocks = append(blocks, &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{
			ToolUseId: &call.ID, Name: &call.Name, Input: bedrockDocument([]byte(call.object())),
		}})
	}
	return blocks
}

// bedrockTool returns a tool in the protocol.
func bedrockTool(tool Tool) types.Tool {
	spec := types.ToolSpecification{Name: &tool.Name, InputSchema: &types.ToolInputSchemaMemberJson{Value: bedrockDocument(tool.Schema)}}
	if tool.Description != "" {
		spec.Description = &tool.Description
	}
	return &types.ToolMemberToolSpec{Value: spec}
}

// bedrockDocument returns a JSON object as the library takes it; an empty one for anything else.
func bedrockDocument(content []byte) document.Interface {
	fields := map[string]any{}
	_ = json.Unmarshal(content, &fields) // an invalid schema describes no arguments
	return document.NewLazyDocument(fields)
}
