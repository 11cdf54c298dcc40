// Package letter knows how often letters stand beside each other in some forty languages. By that it tells in which
// language a text is written, and which of several readings of the same bytes is text in any language at all.
//
// The method is the usual one of comparing the probabilities of letter pairs (Cavnar and Trenkle, "N-Gram-Based Text
// Categorization", 1994; Dunning, "Statistical Identification of Language", 1994). The tables are 0.2 MB in the program and
// are used as they lie there: nothing is allocated or computed when the program starts.
//
// The package may import the standard library only.
package letter
