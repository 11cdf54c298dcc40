// Package rtf reads Rich Text Format (version 1.9.1 of Microsoft's specification), and the HTML that Outlook stores inside of it
// (MS-OXRTFEX).
//
// The package may import the standard library, internal/ingest/document, and the packages cfb (for Windows code pages) and
// wordmodel beside it.
package rtf
