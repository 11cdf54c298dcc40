// Package archive reads archives as their members: zip, tar, and both of them and single files compressed by gzip or
// bzip2. Nothing is written to disk, and links are not followed.
//
// The package may import the standard library, golang.org/x/text, internal/ingest/document and the zipfile reader beside it.
package archive
