// Package llm talks to chat models. It holds the ChatModel contract, the named models of an installation, clients for
// services that speak the OpenAI chat completions protocol or Anthropic's Messages API with streaming, a guard that passes
// a failing model over, and a chain of models that stand in for each other.
//
// The package imports no other package of Magpie.
package llm
