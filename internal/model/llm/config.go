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

// Config describes a model of a service, whatever protocol the service speaks.
type Config struct {
	// Name is the name of the model for people and settings; Model when empty.
	Name string
	// BaseURL is where the service is. With the OpenAI protocol it ends in the API's version, such as
	// https://api.openai.com/v1; Anthropic's is https://api.anthropic.com. Key may be empty for local servers.
	BaseURL, Key string
	// Model is the provider's name of the model.
	Model string
	// Limits are what the model takes and writes; zeros take what is known of its family.
	Limits Limits
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

// complete checks what is set and fills in the rest.
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
		standard time.Duration
	}{
		{&c.ConnectTimeout, 10 * time.Second}, {&c.FirstByteTimeout, time.Minute}, {&c.IdleTimeout, time.Minute}, {&c.MaxRetryWait, 10 * time.Second},
	} {
		if *setting.value <= 0 {
			*setting.value = setting.standard
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

// named is the provider's name of the model that a request goes to.
func (c *Config) named(request Request) string {
	if request.Model != "" {
		return request.Model
	}
	return c.Model
}

// longest is how many tokens the answer to a request may have; 0 leaves it to the service.
func (c *Config) longest(request Request) int {
	if limit := c.Limits.MaxOutputTokens; limit > 0 && (request.MaxTokens == 0 || request.MaxTokens > limit) {
		return limit
	}
	return request.MaxTokens
}
