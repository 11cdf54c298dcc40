// Package glob matches slash-separated paths with patterns that people write,
// in time bounded by the product of their lengths.
//
// Allowed imports: the standard library.
package glob
