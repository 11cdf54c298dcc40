// Package summary shortens a document to a few sentences: by the chat model
// where one is configured, else by picking the document's own sentences.
// It imports internal/model/llm and internal/analysis.
package summary
