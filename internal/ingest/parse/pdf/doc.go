// Package pdf reads PDF (ISO 32000) into the blocks of a document: text in reading order, headings, lists, tables,
// code, links, the outline, form values and comments.
//
// # How a file is opened
//
// pdfium opens the file. It is compiled to WebAssembly and run by wazero, so a hostile file can only reach the memory
// of one instance. Each document has a new instance, so that no document sees data of another, and an instance that was
// interrupted or failed is not used again. The end of the context stops an instance inside a call: each loop of the
// machine code checks it. This makes pdfium three times slower, and lets Go's garbage collector run.
//
// # How structure is found
//
// A PDF has the position of each glyph, but little structure. Spans of glyphs become lines by their base lines. Drawn
// rules become tables. The rest of a page is cut at gutters that no line crosses, and each part is read from top to
// bottom. Over all pages, the most frequent font size is that of the body, repeated text at the edges of pages is a
// running header or footer, and larger or bold short lines are headings. The levels of headings come from the outline
// if there is one.
//
// The package may import the standard library, internal/ingest/document, golang.org/x/text, golang.org/x/sync,
// go-pdfium and wazero.
package pdf
