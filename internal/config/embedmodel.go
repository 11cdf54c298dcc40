package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// An EmbeddingModel has the settings of an embedding model. Zero values keep the defaults of its client.
type EmbeddingModel struct {
	// Name is the name in collections.
	Name string
	Endpoint
	// Dimensions is the length of the model's vectors.
	Dimensions int
	// SendDimensions says whether the service is asked for that length; nil asks models that are known to take it.
	SendDimensions *bool
	// The prefixes are prepended to questions and passages.
	QueryPrefix, PassagePrefix string
	// Batch is the largest number of texts of a request.
	Batch int
	// ConnectTimeout, Timeout and MaxRetryWait bound one request.
	ConnectTimeout, Timeout, MaxRetryWait time.Duration
}

func (m EmbeddingModel) modelName() string { return m.Name }

// BuiltinEmbeddingModel is the name of the model that is always there.
const BuiltinEmbeddingModel = "builtin-static-256-2"

// maxBatch bounds the texts of a request.
const maxBatch = 2048

// embeddingModels returns the model of EMBEDDING_MODEL and those of the file, without the builtin one. The first is the
// default unless EMBEDDING_MODEL names another one or the builtin one. environment has the keys that the file refers to.
func (c *Config) embeddingModels(environment map[string]string) ([]EmbeddingModel, error) {
	var models []EmbeddingModel
	if c.EmbeddingBaseURL != "" {
		models = append(models, EmbeddingModel{
			Name: c.EmbeddingModel, Dimensions: c.EmbeddingDimensions, QueryPrefix: c.EmbeddingQueryPrefix, PassagePrefix: c.EmbeddingPassagePrefix,
			Endpoint: Endpoint{Provider: ProviderOpenAI, BaseURL: c.EmbeddingBaseURL, Key: c.EmbeddingAPIKey, Model: c.EmbeddingModel},
		})
	}
	if c.EmbeddingConfig != "" {
		listed, err := readModels(c.EmbeddingConfig, func(fields map[string]json.RawMessage) (EmbeddingModel, error) {
			return parseEmbeddingModel(fields, environment)
		})
		if err != nil {
			return nil, fmt.Errorf("EMBEDDING_CONFIG: %w", err)
		}
		models = append(models, listed...)
	}
	names := map[string]bool{}
	for _, m := range models {
		if names[m.Name] {
			return nil, fmt.Errorf("EMBEDDING_CONFIG: model %q: name: %w", m.Name, errTwice)
		}
		names[m.Name] = true
	}
	if c.EmbeddingBaseURL != "" || c.EmbeddingModel == "" || c.EmbeddingModel == BuiltinEmbeddingModel {
		return models, nil
	}
	i := slices.IndexFunc(models, func(m EmbeddingModel) bool { return m.Name == c.EmbeddingModel })
	if i < 0 {
		return nil, fmt.Errorf("EMBEDDING_MODEL: there is no model %q in EMBEDDING_CONFIG, and EMBEDDING_BASE_URL is not set", c.EmbeddingModel)
	}
	standard := models[i]
	return slices.Insert(slices.Delete(models, i, i+1), 0, standard), nil
}

func parseEmbeddingModel(fields map[string]json.RawMessage, environment map[string]string) (m EmbeddingModel, err error) {
	var timeouts map[string]json.RawMessage
	known := map[string]any{
		"name": &m.Name, "dimensions": &m.Dimensions, "send_dimensions": &m.SendDimensions, "query_prefix": &m.QueryPrefix,
		"passage_prefix": &m.PassagePrefix, "batch": &m.Batch, "timeouts": &timeouts,
	}
	if err := m.decode(known, fields, embeddingProviders, environment); err != nil {
		return m, err
	}
	if err := parseTimeouts(timeouts, map[string]*time.Duration{
		"connect": &m.ConnectTimeout, "request": &m.Timeout, "max_retry_wait": &m.MaxRetryWait,
	}); err != nil {
		return m, fmt.Errorf("timeouts: %w", err)
	}
	if m.Model == "" {
		m.Model = m.Name
	}
	return m, firstOf([]fieldError{
		{"name", checkSet(m.Name)},
		{"name", checkNameLength(m.Name)},
		{"", m.check(embeddingProviders)},
		{"dimensions", checkRange(m.Dimensions, 1, maxDimensions)},
		{"batch", checkZeroOr(m.Batch, 1, maxBatch)},
	})
}
