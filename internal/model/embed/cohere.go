package embed

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// cohereURL is the address of Cohere, and cohereBatch the most texts of a request, also in Bedrock.
const (
	cohereURL   = "https://api.cohere.com/v2"
	cohereBatch = 96
)

// A cohereBody is a request of Cohere's protocol, which Cohere's models in Bedrock share without the name of the model.
type cohereBody struct {
	Model          string   `json:"model,omitempty"`
	Texts          []string `json:"texts"`
	InputType      string   `json:"input_type"`
	EmbeddingTypes []string `json:"embedding_types"`
	Truncate       string   `json:"truncate,omitempty"`
	Dimensions     int      `json:"output_dimension,omitempty"`
}

// A cohereAnswer is a response of the protocol.
type cohereAnswer struct {
	Embeddings struct {
		Float [][]float32 `json:"float"`
	} `json:"embeddings"`
}

// cohereType returns the type of input of a purpose.
func cohereType(purpose Purpose) string {
	if purpose == Query {
		return "search_query"
	}
	return "search_document"
}

// takesCohere reports whether a model of Cohere gives vectors of several lengths.
func takesCohere(model string) bool { return strings.Contains(model, "embed-v4") }

type cohereProtocol struct {
	call       provider.Call
	model      string
	dimensions int // 0 sends none
}

// NewCohere returns an Embedder of Cohere.
func NewCohere(cfg Config) (*Remote, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = cohereURL
	}
	if err := cfg.limit(cohereBatch); err != nil {
		return nil, err
	}
	call, err := cfg.call("/embed")
	if err != nil {
		return nil, err
	}
	p := &cohereProtocol{call: call, model: cfg.Model}
	if cfg.sends(takesCohere(cfg.Model)) {
		p.dimensions = cfg.Dimensions
	}
	return NewRemote(cfg, p)
}

// Request implements Protocol.
func (p *cohereProtocol) Request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	call := p.call
	call.Body = cohereBody{
		Model: p.model, Texts: texts, InputType: cohereType(purpose), EmbeddingTypes: []string{"float"}, Truncate: "END", Dimensions: p.dimensions,
	}
	var answer cohereAnswer
	err := call.Do(ctx, &answer)
	return answer.Embeddings.Float, err
}
