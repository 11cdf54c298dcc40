package embed

import (
	"context"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// teiBatch is the most texts of a request that the server takes by default.
const teiBatch = 32

type teiProtocol struct {
	call       provider.Call
	dimensions int // 0 sends none
}

// NewTEI returns an Embedder of text-embeddings-inference by its own protocol, which cuts off texts that are too long for
// the model. The base URL has no version. The model is the one that the server was started with.
func NewTEI(cfg Config) (*Remote, error) {
	if cfg.Batch == 0 {
		cfg.Batch = teiBatch
	}
	call, err := cfg.call("/embed")
	if err != nil {
		return nil, err
	}
	p := &teiProtocol{call: call}
	if cfg.sends(false) {
		p.dimensions = cfg.Dimensions
	}
	return NewRemote(cfg, p)
}

// Request implements Protocol.
func (p *teiProtocol) Request(ctx context.Context, texts []string, _ Purpose) ([][]float32, error) {
	call := p.call
	call.Body = struct {
		Inputs     []string `json:"inputs"`
		Truncate   bool     `json:"truncate"`
		Normalize  bool     `json:"normalize"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{texts, true, true, p.dimensions}
	var vectors [][]float32
	err := call.Do(ctx, &vectors)
	return vectors, err
}
