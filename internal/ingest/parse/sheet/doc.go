// Package sheet reads workbooks (XLSX of ECMA-376, XLS of MS-XLS). It turns the rows of sheets into the tables of a
// document, also for the reader of OpenDocument spreadsheets.
//
// The package may import the standard library, internal/ingest/document, and the packages cfb, ooxml and xmlscan beside
// it.
package sheet
