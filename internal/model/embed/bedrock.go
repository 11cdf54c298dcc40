package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/model/bedrock"
)

const (
	// titanParallel is the number of requests at a time to Titan, which takes one text in each.
	titanParallel = 8
	// cohereRunes is the greatest length of a text of Cohere's older models in Bedrock.
	cohereRunes = 2048
)

// A bedrockProtocol has the requests of one family of models.
type bedrockProtocol struct {
	client     *bedrock.Client
	model      string
	dimensions int // 0 sends none
}

// NewBedrock returns an Embedder of a model of Titan or Cohere in Amazon Bedrock. The base URL is that of the region when
// empty.
func NewBedrock(cfg Config, region string) (*Remote, error) {
	if cfg.BaseURL != "" {
		if _, err := cfg.address(); err != nil {
			return nil, err
		}
	}
	takes := takesCohere(cfg.Model)
	switch {
	case strings.Contains(cfg.Model, "titan-embed"):
		cfg.Batch, cfg.Parallel = 1, titanParallel
		takes = strings.Contains(cfg.Model, "titan-embed-text-v2")
	case !strings.Contains(cfg.Model, "cohere.embed"):
		return nil, fmt.Errorf("embedding model %s: Bedrock's models of Titan (titan-embed) and Cohere (cohere.embed) can be used", cfg.Model)
	case !takes && cfg.MaxRunes == 0:
		cfg.MaxRunes = cohereRunes
	}
	if err := cfg.limit(cohereBatch); err != nil {
		return nil, err
	}
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	p := &bedrockProtocol{client: bedrock.New(region, cfg.BaseURL, cfg.HTTPClient), model: cfg.Model}
	if cfg.sends(takes) {
		p.dimensions = cfg.Dimensions
	}
	return NewRemote(cfg, p)
}

// Close ends idle connections.
func (p *bedrockProtocol) Close() { p.client.Close() }

// Request implements Protocol.
func (p *bedrockProtocol) Request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	if strings.Contains(p.model, "titan-embed") {
		return p.titan(ctx, texts[0])
	}
	body := cohereBody{Texts: texts, InputType: cohereType(purpose), EmbeddingTypes: []string{"float"}, Dimensions: p.dimensions}
	body.Truncate = "END"
	if takesCohere(p.model) {
		body.Truncate = "RIGHT" // its name in Bedrock since version 4
	}
	var answer cohereAnswer
	err := p.invoke(ctx, body, &answer)
	return answer.Embeddings.Float, err
}

func (p *bedrockProtocol) titan(ctx context.Context, text string) ([][]float32, error) {
	body := struct {
		Text       string `json:"inputText"`
		Dimensions int    `json:"dimensions,omitempty"`
	}{text, p.dimensions}
	var answer struct {
		Embedding []float32 `json:"embedding"`
	}
	err := p.invoke(ctx, body, &answer)
	return [][]float32{answer.Embedding}, err
}

func (p *bedrockProtocol) invoke(ctx context.Context, body, answer any) error {
	content, err := p.client.Invoke(ctx, operation, p.model, body)
	if err != nil {
		return err
	}
	if json.Unmarshal(content, answer) != nil {
		return invalid("the service sent a response that cannot be %s", "read")
	}
	return nil
}
