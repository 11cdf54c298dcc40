// Package rerank scores passages for a question with a cross-encoder. It has the Reranker interface, a client of reranking
// services, and a circuit breaker.
//
// The package may import internal/request/breaker, internal/model/bedrock, internal/model/google and
// internal/model/llm/provider.
package rerank

import "context"

// A Reranker scores how well passages answer a query. Implementations are safe for concurrent use.
type Reranker interface {
	// Model returns the name of the model for people and logs.
	Model() string
	// Rerank returns one score for each passage, in order, from 0 (irrelevant) to 1.
	Rerank(ctx context.Context, query string, passages []string) ([]float64, error)
}
