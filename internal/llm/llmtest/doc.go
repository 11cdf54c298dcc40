// Package llmtest helps to test what talks to chat models: a server that speaks the OpenAI chat completions protocol as it
// is told to, and the suite that every ChatModel passes. It may import internal/llm.
package llmtest
