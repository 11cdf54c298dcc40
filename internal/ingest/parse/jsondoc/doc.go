// Package jsondoc reads JSON files and files of JSON lines.
//
// The package may import internal/ingest/document, and the code, datatext, datatree and openapi packages beside it.
package jsondoc
