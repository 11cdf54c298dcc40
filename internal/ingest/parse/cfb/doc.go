// Package cfb reads the storages and streams of OLE compound files (MS-CFB), which old Office files and Outlook messages
// are, what the files say about themselves (MS-OLEPS), and text in the code pages that they use. It may import the
// standard library, golang.org/x/text and internal/ingest/document.
//
// Every number in such a file may be wrong on purpose. Nothing is allocated by what a field says, every chain is followed
// through each sector once, and what streams take counts against the budget of the whole file.
package cfb
