// Package archive reads the entries of archives: zip, tar, and gzip and bzip2 files that contain a tar archive or a
// single file. Nothing is written to disk, and links are not followed.
//
// The package may import the standard library, golang.org/x/text, internal/ingest/document and package zipfile beside
// it.
package archive
