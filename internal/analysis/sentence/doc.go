// Package sentence splits text into sentences. It uses the sentence boundaries of
// Unicode (UAX #29) and leaves out those after initials, abbreviations and ordinal
// numbers, by lists of each language. Thai and Lao have no mark at the end of a
// sentence; their text is split at blanks into clauses.
//
// The package may import the standard library and the sentence segmenter.
package sentence
