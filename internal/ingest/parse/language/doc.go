// Package language knows the codes of languages and detects the language of a document.
//
// The package may import internal/ingest/document, and the letter package beside it.
package language
