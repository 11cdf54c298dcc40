// Package asciidoc reads AsciiDoc.
//
// The package may import internal/ingest/document, and the compose, htmldoc and inline packages beside it.
package asciidoc
