// Package cfb reads the storages and streams of OLE compound files (MS-CFB), which old Office files and Outlook
// messages are. It may import the standard library, mscfb and internal/ingest/document.
package cfb
