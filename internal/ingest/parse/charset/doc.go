// Package charset decodes text files in any of the encodings that text is found in, and cleans text of control characters. The
// encoding is found from byte order marks, from declarations in the file or by its source, and finally by which encoding makes
// the bytes most like text.
//
// The package may import the standard library, golang.org/x/text, golang.org/x/net/html/charset, internal/ingest/document, and
// the letter package beside it.
package charset
