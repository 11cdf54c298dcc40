// Package ingest turns the content of a file into what the index stores: the parsed document, its passages and their
// vectors. Package parse reads formats, package passage splits documents.
//
// The package may import internal/model/embed.
package ingest
