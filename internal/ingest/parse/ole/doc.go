// Package ole reads the documents and presentations of the old binary Office formats: Word 6 to 2003 (MS-DOC) and PowerPoint 97
// to 2003 (MS-PPT).
//
// Offsets and lengths of a file may be wrong on purpose. Numbers are therefore only read through view, and loops are bounded by
// the size of the file.
//
// The package may import the standard library, internal/ingest/document, and the packages cfb and wordmodel beside it.
package ole
