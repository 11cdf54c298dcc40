// Package summary summarizes a document in a few sentences, by the chat model
// if one is configured, else by selecting sentences of the document. It imports
// internal/model/llm and internal/analysis.
package summary
