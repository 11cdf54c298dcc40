// Package xmldoc reads XML: feeds, outlines, site maps, drawings, documents of prose such as DocBook, and data.
//
// The package may import internal/ingest/document, and the charset, code, compose, htmldoc, inline and xmlscan packages beside
// it.
package xmldoc
