// Package embed turns texts into vectors. It has the Embedder interface, the registry of the models of an installation, a
// builtin embedder that needs no service (its table and pooling are in package static), and clients of the protocols of
// services. Questions adds a timeout, a cache and a circuit breaker for searches.
//
// The package may import internal/model/bedrock, internal/model/google, internal/request/breaker, internal/model/embed/static, internal/analysis, internal/model/llm/provider and the client library of
// the protocol.
package embed
