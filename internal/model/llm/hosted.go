package llm

import (
	"net/url"

	openai "github.com/sashabaranov/go-openai"

	"github.com/magpie-search/magpie/internal/model/google"
)

// The addresses of services with the OpenAI protocol.
const (
	ollamaURL = "http://127.0.0.1:11434/v1"
	cohereURL = "https://api.cohere.ai/compatibility/v1"
)

// NewAzure returns a model of a deployment in Azure OpenAI. The base URL is that of the resource, such as
// https://NAME.openai.azure.com. The model's name tells the family of the deployed model.
func NewAzure(cfg Config, deployment, version string) (*OpenAI, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	settings := openai.DefaultAzureConfig(cfg.Key, cfg.BaseURL)
	settings.APIVersion = version
	settings.AzureModelMapperFunc = func(string) string { return deployment }
	return newOpenAI(cfg, settings), nil
}

// NewOllama returns a model of Ollama by its OpenAI-compatible address, which is a local one by default. Ollama ignores
// tool_choice.
func NewOllama(cfg Config) (*OpenAI, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = ollamaURL
	}
	return newWithout(cfg, omissions{choice: true})
}

// NewCohere returns a model of Cohere by its OpenAI-compatible address, whose documentation lists neither tool_choice nor
// stream_options.
func NewCohere(cfg Config) (*OpenAI, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = cohereURL
	}
	return newWithout(cfg, omissions{choice: true, usage: true})
}

func newWithout(cfg Config, without omissions) (*OpenAI, error) {
	model, err := NewOpenAI(cfg)
	if err != nil {
		return nil, err
	}
	model.without = without
	return model, nil
}

// NewVertex returns a model of Vertex AI by its OpenAI-compatible address. Its requests have tokens of the default
// credentials. The base URL is that of the location when empty. Models have their publisher in their name, such as
// google/gemini-2.5-flash.
func NewVertex(cfg Config, project, location string) (*OpenAI, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = google.VertexURL(location)
	}
	cfg.BaseURL += "/v1/projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(location) + "/endpoints/openapi"
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	cfg.HTTPClient = google.Client(cfg.HTTPClient)
	return NewOpenAI(cfg)
}
