// Package separated reads tables of separated values, such as CSV files.
//
// The package may import internal/ingest/document, and the ascii and compose packages beside it.
package separated
