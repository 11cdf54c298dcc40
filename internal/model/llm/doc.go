// Package llm has the interface of chat models, the named models of an installation, streaming clients for the OpenAI chat
// completions protocol and Anthropic's Messages API, a circuit breaker for failing models, and a chain of a model with
// fallbacks.
//
// The package imports no other package of Magpie.
package llm
