// Package datatree holds the values of a JSON or YAML file as one flat tree, with the parsers that make it. A tree of millions
// of values takes few allocations, because its nodes refer to each other by index.
//
// The package may import the standard library, a YAML decoder, internal/ingest/document, and the ascii and charset packages
// beside it.
package datatree
