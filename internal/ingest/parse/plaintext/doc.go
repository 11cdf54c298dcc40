// Package plaintext reads plain text and log files. It finds headings, lists, quotations, code and pages by their layout.
//
// The package may import internal/ingest/document, and the ascii, compose, inline and subtitle packages beside it.
package plaintext
