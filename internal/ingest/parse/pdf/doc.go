// Package pdf reads PDF (ISO 32000) into the blocks of a document: text in reading order, headings, lists, tables, code,
// links, the outline, form values and comments.
//
// # How a file is opened
//
// The file is opened by pdfium, which is compiled to WebAssembly and run by wazero: what a hostile file can reach is the
// memory of one instance. Each document gets an instance of its own that is thrown away afterwards, so that no document
// sees what another left behind, and an instance that was interrupted or failed is never used again. The end of the
// context stops an instance inside a call, since every loop of the machine code looks for it (which makes pdfium three
// times slower than without, and lets the garbage collector of Go go on beside it).
//
// # How structure is found
//
// A PDF says where each glyph stands and little else. Spans of glyphs become lines by their base lines; drawn rules become
// tables; the rest of a page is cut at gutters that no line crosses, and each part is read from top to bottom. Over all
// pages, the most frequent size of type is that of the body, what repeats at the edges of pages is a running header or
// footer, and larger or bold short lines are headings, whose levels come from the outline where the file has one.
//
// The package may import the standard library, internal/ingest/document, golang.org/x/text, golang.org/x/sync, go-pdfium
// and wazero.
package pdf
