package embed

import (
	"context"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/internal/model/google"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

const (
	// vertexBatch is the most texts of a request whose tokens are within the limit of 20,000 a request, and vertexMax the most
	// texts of any.
	vertexBatch, vertexMax = 8, 250
	// geminiParallel is the number of requests at a time to models that take one text in each.
	geminiParallel = 8
)

type vertexProtocol struct {
	call       provider.Call
	dimensions int // 0 sends none
}

// NewVertex returns an Embedder of Google's models in Vertex AI. Its requests have tokens of the default credentials. The
// base URL is that of the location when empty. Models from gemini-embedding-2 on have another method, which takes prefixes
// instead of the type of a task; those of Google's documentation replace empty ones.
func NewVertex(cfg Config, project, location string) (*Remote, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = google.VertexURL(location)
	}
	if strings.HasPrefix(cfg.Model, "gemini-") {
		cfg.Batch, cfg.Parallel = 1, geminiParallel
	} else if cfg.Batch == 0 {
		cfg.Batch = vertexBatch
	}
	if err := cfg.limit(vertexMax); err != nil {
		return nil, err
	}
	method := ":predict"
	takesContent := strings.HasPrefix(cfg.Model, "gemini-") && cfg.Model != "gemini-embedding-001"
	if takesContent {
		method = ":embedContent"
		if cfg.QueryPrefix == "" && cfg.PassagePrefix == "" {
			cfg.QueryPrefix, cfg.PassagePrefix = "task: search result | query: ", "title: none | text: "
		}
	}
	call, err := cfg.call("/v1/projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(location) + "/publishers/google/models/" + url.PathEscape(cfg.Model) + method)
	if err != nil {
		return nil, err
	}
	call.Client = google.Client(call.Client)
	p := &vertexProtocol{call: call}
	if cfg.sends(!strings.HasPrefix(cfg.Model, "textembedding-gecko")) {
		p.dimensions = cfg.Dimensions
	}
	if takesContent {
		return NewRemote(cfg, (*contentProtocol)(p))
	}
	return NewRemote(cfg, p)
}

// A contentProtocol is the method embedContent, which takes one text.
type contentProtocol vertexProtocol

// Request implements Protocol.
func (p *contentProtocol) Request(ctx context.Context, texts []string, _ Purpose) ([][]float32, error) {
	type part struct {
		Text string `json:"text"`
	}
	var body struct {
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
		Truncate   bool `json:"autoTruncate"`
		Dimensions int  `json:"outputDimensionality,omitempty"`
	}
	body.Content.Parts, body.Truncate, body.Dimensions = []part{{texts[0]}}, true, p.dimensions
	var answer struct {
		Embedding struct {
			Values []float32 `json:"values"`
		} `json:"embedding"`
	}
	call := p.call
	call.Body = body
	err := call.Do(ctx, &answer)
	return [][]float32{answer.Embedding.Values}, err
}

// Request implements Protocol.
func (p *vertexProtocol) Request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	type instance struct {
		Content string `json:"content"`
		Task    string `json:"task_type"`
	}
	var body struct {
		Instances  []instance `json:"instances"`
		Parameters struct {
			Truncate   bool `json:"autoTruncate"`
			Dimensions int  `json:"outputDimensionality,omitempty"`
		} `json:"parameters"`
	}
	task := "RETRIEVAL_DOCUMENT"
	if purpose == Query {
		task = "RETRIEVAL_QUERY"
	}
	for _, text := range texts {
		body.Instances = append(body.Instances, instance{text, task})
	}
	body.Parameters.Truncate, body.Parameters.Dimensions = true, p.dimensions
	var answer struct {
		Predictions []struct {
			Embeddings struct {
				Values []float32 `json:"values"`
			} `json:"embeddings"`
		} `json:"predictions"`
	}
	call := p.call
	call.Body = body
	if err := call.Do(ctx, &answer); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(answer.Predictions))
	for i := range answer.Predictions {
		vectors[i] = answer.Predictions[i].Embeddings.Values
	}
	return vectors, nil
}
