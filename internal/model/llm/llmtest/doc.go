// Package llmtest helps to test what talks to chat models: a server that speaks the OpenAI chat completions protocol and
// Anthropic's Messages API as it is told to, and the suites that every ChatModel passes, and every one of a service. It may
// import internal/model/llm.
package llmtest
