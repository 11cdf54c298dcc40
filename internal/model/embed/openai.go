package embed

import (
	"context"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// ollamaURL is the address of a local Ollama, voyageURL that of Voyage AI, and voyageBatch the most texts of a request.
const (
	ollamaURL   = "http://127.0.0.1:11434/v1"
	voyageURL   = "https://api.voyageai.com/v1"
	voyageBatch = 1000
)

// An openaiProtocol is the OpenAI embeddings protocol, and the variants of other services.
type openaiProtocol struct {
	client     *openai.Client
	model, key string
	encoding   openai.EmbeddingEncodingFormat // "" sends none
	dimensions int                            // 0 sends none
	// extra returns more fields of the request; nil for none.
	extra func(Purpose) map[string]any
}

// NewOpenAI returns an Embedder of the OpenAI embeddings protocol, which many services and local servers have. The base URL
// ends in the API version, such as https://api.openai.com/v1. The error names the invalid setting.
func NewOpenAI(cfg Config) (*Remote, error) {
	base, err := cfg.address()
	if err != nil {
		return nil, err
	}
	settings := openai.DefaultConfig(cfg.Key)
	settings.BaseURL = base
	return newOpenAI(cfg, settings, &openaiProtocol{encoding: openai.EmbeddingEncodingFormatFloat}, strings.HasPrefix(cfg.Model, "text-embedding-3"))
}

// NewAzure returns an Embedder of a deployment in Azure OpenAI. The base URL is that of the resource, such as
// https://NAME.openai.azure.com.
func NewAzure(cfg Config, deployment, version string) (*Remote, error) {
	base, err := cfg.address()
	if err != nil {
		return nil, err
	}
	settings := openai.DefaultAzureConfig(cfg.Key, base)
	settings.APIVersion = version
	settings.AzureModelMapperFunc = func(string) string { return deployment }
	return newOpenAI(cfg, settings, &openaiProtocol{encoding: openai.EmbeddingEncodingFormatFloat}, strings.HasPrefix(cfg.Model, "text-embedding-3"))
}

// NewOllama returns an Embedder of Ollama by its OpenAI-compatible address, which is a local one by default.
func NewOllama(cfg Config) (*Remote, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = ollamaURL
	}
	return NewOpenAI(cfg)
}

// NewVoyage returns an Embedder of Voyage AI, whose protocol is that of OpenAI with other names of the options.
func NewVoyage(cfg Config) (*Remote, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = voyageURL
	}
	if err := cfg.limit(voyageBatch); err != nil {
		return nil, err
	}
	base, err := cfg.address()
	if err != nil {
		return nil, err
	}
	settings := openai.DefaultConfig(cfg.Key)
	settings.BaseURL = base
	sends, length := cfg.sends(takesVoyage(cfg.Model)), cfg.Dimensions
	cfg.SendDimensions = new(false)
	return newOpenAI(cfg, settings, &openaiProtocol{extra: func(purpose Purpose) map[string]any {
		fields := map[string]any{"input_type": "document", "truncation": true}
		if purpose == Query {
			fields["input_type"] = "query"
		}
		if sends {
			fields["output_dimension"] = length
		}
		return fields
	}}, false)
}

// takesVoyage reports whether a model of Voyage gives vectors of several lengths.
func takesVoyage(model string) bool {
	for _, prefix := range []string{"voyage-3-large", "voyage-3.5", "voyage-code-3", "voyage-context-3", "voyage-4"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func newOpenAI(cfg Config, settings openai.ClientConfig, p *openaiProtocol, takesDimensions bool) (*Remote, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	settings.HTTPClient = &provider.Doer{Client: cfg.HTTPClient}
	p.client, p.model, p.key = openai.NewClientWithConfig(settings), cfg.Model, cfg.Key
	if cfg.sends(takesDimensions) {
		p.dimensions = cfg.Dimensions
	}
	return NewRemote(cfg, p)
}

// Request implements Protocol.
func (p *openaiProtocol) Request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	noted, note := provider.WithNote(ctx)
	body := openai.EmbeddingRequestStrings{
		Input: texts, Model: openai.EmbeddingModel(p.model), EncodingFormat: p.encoding, Dimensions: p.dimensions,
	}
	if p.extra != nil {
		body.ExtraBody = p.extra(purpose)
	}
	response, err := p.client.CreateEmbeddings(noted, body)
	if err != nil {
		return nil, provider.Classify(noted, operation, err, note, p.key)
	}
	return inOrder(response.Data, len(texts))
}

// inOrder returns the vectors in the order of the texts. Some servers set all indexes to zero.
func inOrder(data []openai.Embedding, count int) ([][]float32, error) {
	if len(data) != count {
		return nil, invalid("the service gave %d vectors for %d texts", len(data), count)
	}
	vectors := make([][]float32, count)
	ordered := hasOrder(data)
	for i := range data {
		at := i
		if ordered {
			at = data[i].Index
		}
		vectors[at] = data[i].Embedding
	}
	return vectors, nil
}

// hasOrder reports whether each index of the texts occurs once.
func hasOrder(data []openai.Embedding) bool {
	seen := make([]bool, len(data))
	for i := range data {
		if data[i].Index < 0 || data[i].Index >= len(data) || seen[data[i].Index] {
			return false
		}
		seen[data[i].Index] = true
	}
	return true
}
