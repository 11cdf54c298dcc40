// Package embed turns texts into vectors. It holds the Embedder contract, a registry of the models of an installation, a
// builtin embedder that needs no service (its table and pooling are package static), and one for services that speak the
// OpenAI embeddings protocol. Questions embeds what people wait for.
//
// The package may import internal/request/breaker, internal/model/embed/static, internal/analysis, internal/model/llm/provider and the client library of
// the protocol.
package embed
