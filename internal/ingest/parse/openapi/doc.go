// Package openapi reads descriptions of HTTP interfaces (OpenAPI Specification 3.1.1, and Swagger 2.0 before it).
//
// The package may import internal/ingest/document, and the charset, datatext, datatree and markdown packages beside it.
package openapi
