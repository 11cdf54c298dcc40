// Package sheet reads workbooks (XLSX of ECMA-376, XLS of MS-XLS) and makes the tables of a document of the rows of their
// sheets, which the reader of OpenDocument spreadsheets uses too.
//
// The package may import the standard library, internal/ingest/document and the ooxml, xmlscan and cfb readers beside it.
package sheet
