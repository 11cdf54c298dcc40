package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"magpie/internal/llm/provider"
)

// OpenAIConfig describes a model behind the OpenAI chat completions protocol, which many services and local servers speak.
type OpenAIConfig struct {
	// Name is the name of the model for people and settings; Model when empty.
	Name string
	// BaseURL ends in the API's version, such as https://api.openai.com/v1. Key may be empty for local servers.
	BaseURL, Key string
	// Model is the provider's name of the model.
	Model string
	// ConnectTimeout bounds connecting (10 s), FirstByteTimeout the time to the first part of the answer (60 s),
	// IdleTimeout the time between parts (60 s). Zero takes the default.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
	// MaxRetryWait is the longest a retry is waited for (10 s). A service that asks for more is not tried again.
	MaxRetryWait time.Duration
	// Tokens counts usage where the service does not tell it. Share one among models; nil makes one.
	Tokens *TokenCounter
	// HTTPClient replaces the client made from the limits above.
	HTTPClient *http.Client
	// Sleep waits between two tries; provider.Sleep when nil. For tests.
	Sleep func(context.Context, time.Duration) error
}

// OpenAI is a chat model behind the OpenAI protocol. It is safe for concurrent use.
type OpenAI struct {
	cfg    OpenAIConfig
	client *openai.Client
}

var _ ChatModel = (*OpenAI)(nil)

// defaultRetryWait is waited before the second try when the service does not say how long.
const defaultRetryWait = 500 * time.Millisecond

// NewOpenAI makes a model. The error names the setting that is wrong.
func NewOpenAI(cfg OpenAIConfig) (*OpenAI, error) {
	if cfg.Model == "" {
		return nil, errors.New("chat model: the model's name is missing")
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("chat model %s: the base URL must look like https://host/v1", cfg.Model)
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	for _, setting := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&cfg.ConnectTimeout, 10 * time.Second}, {&cfg.FirstByteTimeout, time.Minute}, {&cfg.IdleTimeout, time.Minute}, {&cfg.MaxRetryWait, 10 * time.Second},
	} {
		if *setting.value <= 0 {
			*setting.value = setting.standard
		}
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = provider.NewHTTPClient(cfg.ConnectTimeout, cfg.FirstByteTimeout)
	}
	if cfg.Tokens == nil {
		cfg.Tokens = NewTokenCounter()
	}
	if cfg.Sleep == nil {
		cfg.Sleep = provider.Sleep
	}
	settings := openai.DefaultConfig(cfg.Key)
	settings.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	settings.HTTPClient = &provider.Doer{Client: cfg.HTTPClient, Body: newEventLines}
	settings.EmptyMessagesLimit = math.MaxInt32
	return &OpenAI{cfg: cfg, client: openai.NewClientWithConfig(settings)}, nil
}

// Name implements ChatModel.
func (m *OpenAI) Name() string { return m.cfg.Name }

// Close ends idle connections.
func (m *OpenAI) Close() { m.cfg.HTTPClient.CloseIdleConnections() }

// Stream implements ChatModel. Errors are *provider.Error. A request that fails before the first part of the answer in a
// way that may pass is tried once more, after the time the service asks for.
func (m *OpenAI) Stream(ctx context.Context, request Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for try := 1; ; try++ {
			answer := answer{model: m, request: request, yield: yield}
			err := answer.run(ctx)
			if answer.stopped || err == nil {
				return
			}
			if wait, again := m.retry(ctx, err, try, answer.started); again && m.cfg.Sleep(ctx, wait) == nil {
				continue
			}
			yield(Event{}, err)
			return
		}
	}
}

func (m *OpenAI) retry(ctx context.Context, err error, try int, started bool) (time.Duration, bool) {
	var failure *provider.Error
	if try > 1 || started || ctx.Err() != nil || !errors.As(err, &failure) || !failure.Retryable() || failure.Kind == provider.KindTimeout {
		return 0, false
	}
	wait := failure.RetryAfter()
	if wait == 0 {
		wait = defaultRetryWait
	}
	return wait, wait <= m.cfg.MaxRetryWait
}

// completion is the request as the protocol has it.
func (m *OpenAI) completion(request Request) openai.ChatCompletionRequest {
	body := openai.ChatCompletionRequest{
		Model: m.cfg.Model, Messages: make([]openai.ChatCompletionMessage, len(request.Messages)), Stream: true,
		StreamOptions: &openai.StreamOptions{IncludeUsage: true},
	}
	if request.Model != "" {
		body.Model = request.Model
	}
	for i, message := range request.Messages {
		body.Messages[i] = openai.ChatCompletionMessage{Role: string(message.Role), Content: message.Content}
	}
	if isReasoning(body.Model) {
		body.MaxCompletionTokens = request.MaxTokens // these models take no temperature either
		return body
	}
	body.MaxTokens = request.MaxTokens //nolint:staticcheck // the name that other services and local servers know
	body.Temperature = request.Temperature
	if body.Temperature == 0 {
		body.Temperature = math.SmallestNonzeroFloat32 // a zero is left out on the wire and would mean the service's default
	}
	return body
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

// answer is one try at an answer.
type answer struct {
	model   *OpenAI
	request Request
	yield   func(Event, error) bool
	text    strings.Builder
	usage   *Usage
	started bool // some text was yielded
	stopped bool // the consumer wants no more
}

func (a *answer) run(ctx context.Context) error {
	cfg := &a.model.cfg
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(cfg.FirstByteTimeout, func() {
		cancel(&provider.Error{Kind: provider.KindTimeout, Op: "chat", Message: "no answer within " + cfg.FirstByteTimeout.String()})
	})
	defer watch.Stop()
	ctx, note := provider.WithNote(ctx)
	lines := &eventLines{}
	stream, err := a.model.client.CreateChatCompletionStream(context.WithValue(ctx, linesKey{}, lines), a.model.completion(a.request))
	if err != nil {
		return provider.Classify(ctx, "chat", err, note, cfg.Key)
	}
	defer func() { _ = stream.Close() }() // the answer is over, whatever closing says
	finish := openai.FinishReason("")
	for {
		part, err := stream.Recv()
		watch.Stop() // the time that the consumer takes is its own
		if failure := lines.failure(cfg.Key); failure != nil {
			return failure
		}
		if errors.Is(err, io.EOF) {
			return a.end(lines, finish)
		}
		if err != nil {
			return provider.Classify(ctx, "chat", err, note, cfg.Key)
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
			}
			if !a.say(choice.Delta.Content) {
				return nil
			}
		}
		watch.Reset(cfg.IdleTimeout)
	}
}

// say yields text and reports whether the consumer wants more.
func (a *answer) say(text string) bool {
	if text == "" {
		return true
	}
	a.started = true
	a.text.WriteString(text)
	a.stopped = !a.yield(Event{Text: text}, nil)
	return !a.stopped
}

// end tells a complete answer from one whose connection was closed in the middle.
func (a *answer) end(lines *eventLines, finish openai.FinishReason) error {
	switch {
	case finish == openai.FinishReasonContentFilter && !a.started:
		return &provider.Error{Kind: provider.KindRefused, Op: "chat", Message: "the service's content filter gave no answer"}
	case finish == "" && !lines.done:
		return &provider.Error{Kind: provider.KindInterrupted, Op: "chat", Message: "the answer broke off"}
	}
	if a.usage == nil {
		tokens := a.model.cfg.Tokens
		a.usage = &Usage{PromptTokens: tokens.CountMessages(a.request.Messages), CompletionTokens: tokens.Count(a.text.String())}
	}
	a.stopped = !a.yield(Event{Usage: a.usage}, nil)
	return nil
}
