// Package inline writes and reads the Markdown within a block: links, code spans, plain text, and the HTML inside of text.
//
// The package may import the standard library, and the ascii package beside it.
package inline
