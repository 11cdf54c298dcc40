// Package synth makes texts to measure with: documents and questions that are
// drawn from real documentation, and large files of binary formats.
//
// Allowed imports: the standard library.
package synth
