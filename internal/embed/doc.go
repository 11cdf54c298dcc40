// Package embed turns texts into vectors. It holds the Embedder contract, a registry of the models of an installation, a
// builtin embedder that needs no service, and one for services that speak the OpenAI embeddings protocol.
//
// The package may import internal/search/analysis, internal/llm/provider and the client library of the protocol.
package embed
