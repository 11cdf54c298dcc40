// Package restructured reads reStructuredText.
//
// The package may import internal/ingest/document, and the ascii, compose, htmldoc and inline packages beside it.
package restructured
