// Package rerank judges passages against a question with a model that reads both together. It holds the Reranker contract
// a client for the services that have such models, and a guard for when they do not answer.
//
// The package may import internal/request/breaker and internal/model/llm/provider.
package rerank

import "context"

// Reranker judges how well passages answer a query. Implementations are safe for concurrent use.
type Reranker interface {
	// Model returns the name of the model for people and logs.
	Model() string
	// Rerank returns one score for each passage, in their order: from 0 for no answer to 1 for a good one.
	Rerank(ctx context.Context, query string, passages []string) ([]float64, error)
}
