// Package zipfile opens zip archives, which office files and books are too, with limits on the number of entries, on
// the compression ratio and on the expanded size. It may import the standard library and internal/ingest/document.
package zipfile
