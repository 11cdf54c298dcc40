// Package htmldoc reads HTML: web pages, of which it extracts the main content, and fragments inside other documents.
//
// The package may import golang.org/x/net/html, internal/ingest/document, and the ascii, compose and inline packages beside it.
package htmldoc
