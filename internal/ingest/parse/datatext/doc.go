// Package datatext writes the values of a datatree.Tree as the blocks of a document: tables of similar records, and lines
// "path: value" for everything else.
//
// The package may import internal/ingest/document, and the charset, compose and datatree packages beside it.
package datatext
