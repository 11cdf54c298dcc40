// Package quote answers questions with sentences of the passages that a search found. It
// splits passages into units, chooses those that answer a question, and decides whether
// any does.
//
// The package may import internal/analysis and internal/search.
package quote
