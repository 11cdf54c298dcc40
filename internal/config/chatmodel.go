package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A ChatModel has the settings of a chat model. Zero values keep the defaults of its client.
type ChatModel struct {
	// Name is the name in API keys and fallbacks.
	Name string
	Endpoint
	// ContextWindow and MaxOutputTokens are in tokens.
	ContextWindow, MaxOutputTokens int
	// ConnectTimeout, FirstByteTimeout, IdleTimeout and MaxRetryWait bound one request.
	ConnectTimeout, FirstByteTimeout, IdleTimeout, MaxRetryWait time.Duration
	// Fallback are the models to ask, in this order, when the model fails before its first token.
	Fallback []string

	hasFallback bool // the file has the list, which may be empty
}

func (m ChatModel) modelName() string { return m.Name }

// The bounds of LLM_CONFIG.
const (
	minWindow = 2048 // the rules of an answer, a short question and a piece of a passage
	maxWindow = 100_000_000
)

// chatModels returns the models of LLM_MODEL and LLM_MODELS, of ANTHROPIC_MODELS, and of the file. The first is the
// default unless LLM_MODEL is another one. environment has the keys that the file refers to.
func (c *Config) chatModels(environment map[string]string) ([]ChatModel, error) {
	var models []ChatModel
	if c.LLMBaseURL != "" {
		for _, name := range unique(append([]string{c.LLMModel}, c.LLMModels...)) {
			models = append(models, ChatModel{Name: name, Endpoint: Endpoint{Provider: ProviderOpenAI, BaseURL: c.LLMBaseURL, Key: c.LLMAPIKey, Model: name}})
		}
	} else if len(unique(c.LLMModels)) > 0 {
		return nil, errors.New("LLM_MODELS: must be set together with LLM_BASE_URL")
	}
	for _, name := range unique(c.AnthropicModels) {
		if c.AnthropicAPIKey == "" {
			return nil, errors.New("ANTHROPIC_MODELS: must be set together with ANTHROPIC_API_KEY")
		}
		models = append(models, ChatModel{Name: name, Endpoint: Endpoint{Provider: ProviderAnthropic, BaseURL: c.AnthropicBaseURL, Key: c.AnthropicAPIKey, Model: name}})
	}
	if c.LLMConfig != "" {
		listed, err := readModels(c.LLMConfig, func(fields map[string]json.RawMessage) (ChatModel, error) {
			return parseChatModel(fields, environment)
		})
		if err != nil {
			return nil, fmt.Errorf("LLM_CONFIG: %w", err)
		}
		models = append(models, listed...)
	}
	if err := c.resolveFallbacks(models); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(models, func(m ChatModel) bool { return m.Name == c.LLMModel }); i > 0 {
		standard := models[i]
		models = slices.Insert(slices.Delete(models, i, i+1), 0, standard)
	} else if i < 0 && c.LLMModel != "" {
		return nil, fmt.Errorf("LLM_MODEL: there is no model %q in ANTHROPIC_MODELS or LLM_CONFIG, and LLM_BASE_URL is not set", c.LLMModel)
	}
	return models, nil
}

// resolveFallbacks checks the names of models and sets their fallbacks.
func (c *Config) resolveFallbacks(models []ChatModel) error {
	names := map[string]bool{}
	for _, m := range models {
		if names[m.Name] {
			return fmt.Errorf("LLM_CONFIG: model %q: name: %w", m.Name, errTwice)
		}
		names[m.Name] = true
	}
	defaults := unique(c.LLMFallback)
	for _, name := range defaults {
		if !names[name] {
			return fmt.Errorf("LLM_FALLBACK: there is no model %q", name)
		}
	}
	for i := range models {
		m := &models[i]
		if !m.hasFallback {
			m.Fallback = slices.DeleteFunc(slices.Clone(defaults), func(name string) bool { return name == m.Name })
		}
		for _, name := range m.Fallback {
			switch {
			case name == m.Name:
				return fmt.Errorf("LLM_CONFIG: model %q: fallback: a model cannot stand in for itself", m.Name)
			case !names[name]:
				return fmt.Errorf("LLM_CONFIG: model %q: fallback: there is no model %q", m.Name, name)
			}
		}
	}
	return nil
}

func parseChatModel(fields map[string]json.RawMessage, environment map[string]string) (m ChatModel, err error) {
	var timeouts map[string]json.RawMessage
	known := map[string]any{
		"name": &m.Name, "context_window": &m.ContextWindow, "max_output_tokens": &m.MaxOutputTokens, "timeouts": &timeouts, "fallback": &m.Fallback,
	}
	if err := m.decode(known, fields, chatProviders, environment); err != nil {
		return m, err
	}
	_, m.hasFallback = fields["fallback"]
	m.Fallback = unique(m.Fallback)
	if err := parseTimeouts(timeouts, map[string]*time.Duration{
		"connect": &m.ConnectTimeout, "first_byte": &m.FirstByteTimeout, "idle": &m.IdleTimeout, "max_retry_wait": &m.MaxRetryWait,
	}); err != nil {
		return m, fmt.Errorf("timeouts: %w", err)
	}
	if m.Model == "" {
		m.Model = m.Name
	}
	return m, firstOf([]fieldError{
		{"name", checkSet(m.Name)},
		{"name", checkNameLength(m.Name)},
		{"", m.check(chatProviders)},
		{"context_window", checkZeroOr(m.ContextWindow, minWindow, maxWindow)},
		{"max_output_tokens", checkZeroOr(m.MaxOutputTokens, 1, maxWindow)},
	})
}
