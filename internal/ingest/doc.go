// Package ingest turns the content of one file into what the index stores: the parsed document, its passages and their
// vectors. Packages below it do the parts: parse reads formats, chunk cuts passages.
//
// The package may import internal/model/embed.
package ingest
