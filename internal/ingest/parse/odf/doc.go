// Package odf reads OpenDocument files (ODF 1.0 to 1.4, ISO/IEC 26300): texts, spreadsheets and presentations with
// their templates, as zip packages and as flat XML. The content is read as a stream. Only the styles, the current slide
// and the current table are in memory.
//
// The package may import the standard library, internal/ingest/document, and the packages sheet, wordmodel, xmlscan and
// zipfile beside it.
package odf
