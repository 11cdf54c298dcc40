// Package cfb reads the storages and streams of OLE compound files (MS-CFB), which old Office files and Outlook
// messages are, the properties of the files (MS-OLEPS), and text in Windows code pages.
//
// Numbers in a file may be wrong on purpose. No allocation depends on a field, a chain passes each sector once, and
// streams count against the budget of the file.
//
// The package may import the standard library, golang.org/x/text and internal/ingest/document.
package cfb
