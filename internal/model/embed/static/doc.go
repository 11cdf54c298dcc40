// Package static embeds texts with a table of vectors: one row for each known word, and rows for the character sequences
// that unknown words are put together from. A text's vector is the sum of the rows of its words, brought to unit length.
// The table is read where it lies, in the binary; nothing of it is copied.
//
// The package may import internal/analysis.
package static
