// Package static embeds texts with a table of vectors: one row for each known word, and rows for the character n-grams of
// unknown words. The vector of a text is the sum of the rows of its words, scaled to unit length. The table is read from
// the binary without a copy.
//
// The package may import internal/analysis.
package static
