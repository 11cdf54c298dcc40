// Package rtf reads Rich Text Format (version 1.9.1 of Microsoft's specification), and the HTML that Outlook hides in it
// (MS-OXRTFEX).
//
// The package may import the standard library, internal/ingest/document and the cfb reader beside it, for text in Windows
// code pages.
package rtf
