// Package yamldoc reads YAML files.
//
// The package may import internal/ingest/document, and the code, datatree and openapi packages beside it.
package yamldoc
