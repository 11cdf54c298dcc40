// Package epub reads books in EPUB 2 and EPUB 3 (Open Container Format, Open Packaging Format, EPUB 3.3 of the W3C):
// the metadata of the package document, the chapters in the order of the spine, and the table of contents for chapters
// without a heading. The reader of web pages reads the chapters, as files inside the book.
//
// The package may import the standard library, internal/ingest/document, and the packages xmlscan and zipfile beside
// it.
package epub
