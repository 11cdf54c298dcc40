// Package glob matches slash separated paths against patterns written by
// people, in time bounded by the product of both lengths.
//
// Allowed imports: the standard library.
package glob
