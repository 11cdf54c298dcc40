// Package spelling compares a misspelled word with the terms of a dictionary. Both
// tiers of a search use it, so that they offer the same corrections.
//
// The package may import golang.org/x/text and the standard library.
package spelling
