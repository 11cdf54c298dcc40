// Package code reads source code and configuration as blocks of whole declarations. It needs no parser for each language: a
// grammar lists the brackets, strings, comments and keywords of a language, and names are found from these.
//
// The package may import internal/ingest/document, and the ascii and compose packages beside it.
package code
