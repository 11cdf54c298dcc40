// Package epub reads books in EPUB 2 and EPUB 3 (Open Container Format, Open Packaging Format, EPUB 3.3 of the W3C): the
// package document with its metadata, the chapters in the order of the spine, and the table of contents for chapters
// that have no heading of their own. The chapters are read by the reader of web pages, as files inside the book.
//
// The package may import the standard library, internal/ingest/document and the zipfile and xmlscan readers beside it.
package epub
