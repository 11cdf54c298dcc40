// Package odf reads OpenDocument files (ODF 1.0 to 1.4, ISO/IEC 26300): texts, spreadsheets and presentations with their
// templates, as zip packages and as flat XML. The content is read as a stream; only styles, the slide at hand and the
// table at hand are held.
//
// The package may import the standard library, internal/ingest/document and the zipfile, xmlscan and sheet readers beside
// it.
package odf
