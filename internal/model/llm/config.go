package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Config describes a model of a service, for every protocol.
type Config struct {
	// Name is the name of the model in settings and for people; Model when empty.
	Name string
	// BaseURL is the address of the service. For the OpenAI protocol it ends in the API version, such as
	// https://api.openai.com/v1; Anthropic's is https://api.anthropic.com. Key may be empty for local servers.
	BaseURL, Key string
	// Model is the provider's name of the model.
	Model string
	// Limits are the token limits of the model; zero fields have the values of its family.
	Limits Limits
	// ConnectTimeout limits connecting (10 s), FirstByteTimeout the time to the first part of the answer (60 s), and
	// IdleTimeout the time between parts (60 s). Zero fields have these defaults.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
	// MaxRetryWait is the longest delay of a retry (10 s). A request is not retried if the service asks for more.
	MaxRetryWait time.Duration
	// Tokens counts the usage if the service does not send it. Models may share it; a model makes its own if it is nil.
	Tokens *TokenCounter
	// HTTPClient replaces the client with the timeouts above.
	HTTPClient *http.Client
	// Sleep waits before a retry; provider.Sleep when nil. For tests.
	Sleep func(context.Context, time.Duration) error
}

// complete checks the settings and sets the defaults.
func (c *Config) complete() error {
	if c.Model == "" {
		return errors.New("chat model: the model's name is missing")
	}
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return fmt.Errorf("chat model %s: the base URL must look like https://host/v1", c.Model)
	}
	if c.Name == "" {
		c.Name = c.Model
	}
	for _, setting := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&c.ConnectTimeout, 10 * time.Second}, {&c.FirstByteTimeout, time.Minute}, {&c.IdleTimeout, time.Minute}, {&c.MaxRetryWait, 10 * time.Second},
	} {
		if *setting.value <= 0 {
			*setting.value = setting.fallback
		}
	}
	if c.HTTPClient == nil {
		c.HTTPClient = provider.NewHTTPClient(c.ConnectTimeout, c.FirstByteTimeout)
	}
	if c.Tokens == nil {
		c.Tokens = NewTokenCounter()
	}
	if c.Sleep == nil {
		c.Sleep = provider.Sleep
	}
	c.Limits = c.Limits.orKnown(c.Model)
	return nil
}

// modelOf returns the provider's name of the model of a request.
func (c *Config) modelOf(request Request) string {
	if request.Model != "" {
		return request.Model
	}
	return c.Model
}

// maxTokens returns the largest number of tokens of an answer; 0 for the default of the service.
func (c *Config) maxTokens(request Request) int {
	if limit := c.Limits.MaxOutputTokens; limit > 0 && (request.MaxTokens == 0 || request.MaxTokens > limit) {
		return limit
	}
	return request.MaxTokens
}
