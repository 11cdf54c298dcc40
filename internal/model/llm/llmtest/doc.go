// Package llmtest has a scripted server of the OpenAI chat completions protocol and Anthropic's Messages API, and the test
// suites of ChatModels and of clients of services. It may import internal/model/llm.
package llmtest
