package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The protocols of chat models.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
)

// anthropicURL is the address of Anthropic's service.
const anthropicURL = "https://api.anthropic.com"

// A ChatModel has the settings of a chat model. Zero values keep the defaults of its client.
type ChatModel struct {
	// Name is the name in API keys and fallbacks.
	Name string
	// Provider is ProviderOpenAI or ProviderAnthropic.
	Provider string
	BaseURL  string
	Key      Secret
	// Model is the name of the model at the provider.
	Model string
	// ContextWindow and MaxOutputTokens are in tokens.
	ContextWindow, MaxOutputTokens int
	// ConnectTimeout, FirstByteTimeout, IdleTimeout and MaxRetryWait bound one request.
	ConnectTimeout, FirstByteTimeout, IdleTimeout, MaxRetryWait time.Duration
	// Fallback are the models to ask, in this order, when the model fails before its first token.
	Fallback []string

	hasFallback bool // the file has the list, which may be empty
}

// The bounds of LLM_CONFIG.
const (
	minWindow     = 2048 // the rules of an answer, a short question and a piece of a passage
	maxWindow     = 100_000_000
	maxConfigFile = 1 << 20
)

// chatModels returns the models of LLM_MODEL and LLM_MODELS, of ANTHROPIC_MODELS, and of the file. The first is the
// default unless LLM_MODEL is another one. environment has the keys that the file refers to.
func (c *Config) chatModels(environment map[string]string) ([]ChatModel, error) {
	var models []ChatModel
	if c.LLMBaseURL != "" {
		for _, name := range unique(append([]string{c.LLMModel}, c.LLMModels...)) {
			models = append(models, ChatModel{Name: name, Provider: ProviderOpenAI, BaseURL: c.LLMBaseURL, Key: c.LLMAPIKey, Model: name})
		}
	} else if len(unique(c.LLMModels)) > 0 {
		return nil, errors.New("LLM_MODELS: must be set together with LLM_BASE_URL")
	}
	for _, name := range unique(c.AnthropicModels) {
		if c.AnthropicAPIKey == "" {
			return nil, errors.New("ANTHROPIC_MODELS: must be set together with ANTHROPIC_API_KEY")
		}
		models = append(models, ChatModel{Name: name, Provider: ProviderAnthropic, BaseURL: c.AnthropicBaseURL, Key: c.AnthropicAPIKey, Model: name})
	}
	if c.LLMConfig != "" {
		listed, err := readModels(c.LLMConfig, environment)
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
			return fmt.Errorf("LLM_CONFIG: model %q: name: there are two models of this name", m.Name)
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

// unique returns the names without blanks and duplicates.
func unique(names []string) []string {
	var list []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func readModels(path string, environment map[string]string) ([]ChatModel, error) {
	content, err := readNamed(path)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return parseModels(content, environment)
}

// parseModels parses the list of models. Its errors have the entry and the field, and no value.
func parseModels(content []byte, environment map[string]string) ([]ChatModel, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(content, &entries); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: the file is not JSON", 1+bytes.Count(content[:min(int(syntax.Offset), len(content))], []byte("\n")))
		}
		return nil, errors.New("the file must hold a list of objects: [{\"name\": …}]")
	}
	var models []ChatModel
	for i, fields := range entries {
		m, err := parseModel(fields, environment)
		if err != nil {
			which := fmt.Sprintf("entry %d", i+1)
			if m.Name != "" {
				which = fmt.Sprintf("model %q", m.Name)
			}
			return nil, fmt.Errorf("%s: %w", which, err)
		}
		models = append(models, m)
	}
	return models, nil
}

func parseModel(fields map[string]json.RawMessage, environment map[string]string) (m ChatModel, err error) {
	var key, keyVariable string
	var timeouts map[string]json.RawMessage
	known := map[string]any{
		"name": &m.Name, "provider": &m.Provider, "base_url": &m.BaseURL, "api_key": &key, "api_key_env": &keyVariable, "model": &m.Model,
		"context_window": &m.ContextWindow, "max_output_tokens": &m.MaxOutputTokens, "timeouts": &timeouts, "fallback": &m.Fallback,
	}
	if err := decodeFields(known, fields); err != nil {
		return m, err
	}
	_, m.hasFallback = fields["fallback"]
	m.Fallback = unique(m.Fallback)
	if m.Key, err = keyOf(key, keyVariable, environment); err != nil {
		return m, err
	}
	if err := m.parseTimeouts(timeouts); err != nil {
		return m, fmt.Errorf("timeouts: %w", err)
	}
	if m.Provider == ProviderAnthropic && m.BaseURL == "" {
		m.BaseURL = anthropicURL
	}
	if m.Model == "" {
		m.Model = m.Name
	}
	return m, m.check()
}

// decodeFields decodes each field into its target. It begins with the name, which errors about the others contain.
func decodeFields(known map[string]any, fields map[string]json.RawMessage) error {
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "name"), strings.TrimPrefix(b, "name"))
	})
	for _, name := range names {
		target, found := known[name]
		if !found {
			return fmt.Errorf("there is no field %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := json.Unmarshal(fields[name], target); err != nil {
			return fmt.Errorf("%s: must be %s", name, kindOf(target))
		}
	}
	return nil
}

// kindOf returns the kind of value of a target.
func kindOf(target any) string {
	switch target.(type) {
	case *string:
		return "a text"
	case *int:
		return "a whole number"
	case *[]string:
		return "a list of texts"
	default:
		return "an object"
	}
}

// keyOf returns the key, or the value of an environment variable.
func keyOf(key, variable string, environment map[string]string) (Secret, error) {
	switch {
	case variable == "":
		return Secret(key), nil
	case key != "":
		return "", errors.New("api_key: must not be set together with api_key_env")
	case environment[variable] == "":
		return "", fmt.Errorf("api_key_env: the environment variable %q is not set", variable)
	}
	return Secret(environment[variable]), nil
}

// parseTimeouts parses time limits such as 10s.
func (m *ChatModel) parseTimeouts(fields map[string]json.RawMessage) error {
	texts := map[string]any{}
	targets := map[string]*time.Duration{
		"connect": &m.ConnectTimeout, "first_byte": &m.FirstByteTimeout, "idle": &m.IdleTimeout, "max_retry_wait": &m.MaxRetryWait,
	}
	for name := range targets {
		texts[name] = new(string)
	}
	if err := decodeFields(texts, fields); err != nil {
		return err
	}
	for name, target := range targets {
		text, _ := texts[name].(*string)
		if *text == "" {
			continue
		}
		duration, err := time.ParseDuration(*text)
		if err != nil || duration <= 0 {
			return fmt.Errorf("%s: must be a time such as 10s", name)
		}
		*target = duration
	}
	return nil
}

func (m *ChatModel) check() error {
	for _, field := range []struct {
		name string
		err  error
	}{
		{"name", checkSet(m.Name)},
		{"name", checkNameLength(m.Name)},
		{"provider", checkSet(m.Provider)},
		{"provider", checkOneOf(m.Provider, ProviderOpenAI, ProviderAnthropic)},
		{"base_url", checkSet(m.BaseURL)},
		{"base_url", checkWebURL(m.BaseURL)},
		{"api_key", checkAnthropicKey(m)},
		{"context_window", checkZeroOr(m.ContextWindow, minWindow, maxWindow)},
		{"max_output_tokens", checkZeroOr(m.MaxOutputTokens, 1, maxWindow)},
	} {
		if field.err != nil {
			return fmt.Errorf("%s: %w", field.name, field.err)
		}
	}
	return nil
}

func checkSet(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is not set")
	}
	return nil
}

func checkNameLength(name string) error {
	const limit = 200 // that of widget_model_id
	if len(name) > limit {
		return fmt.Errorf("must be at most %d bytes", limit)
	}
	return nil
}

func checkAnthropicKey(m *ChatModel) error {
	if m.Provider == ProviderAnthropic && m.Key == "" {
		return errors.New("or api_key_env must be set for anthropic")
	}
	return nil
}

func checkZeroOr(value, least, most int) error {
	if value == 0 {
		return nil
	}
	return checkRange(value, least, most)
}
