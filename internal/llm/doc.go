// Package llm talks to chat models. It holds the ChatModel contract, the named models of an installation, and a client
// for services that speak the OpenAI chat completions protocol with streaming.
//
// The package imports no other package of Magpie.
package llm
