// Package ole reads the documents and presentations of the old binary Office formats: Word 6 to 2003 (MS-DOC) and
// PowerPoint 97 to 2003 (MS-PPT). It may import the standard library, internal/ingest/document and
// internal/ingest/parse/cfb.
//
// Every offset and length is the file's own and may be wrong on purpose: numbers are only read through view, for which
// what lies outside is nothing, and loops are bounded by what the file really has.
package ole
