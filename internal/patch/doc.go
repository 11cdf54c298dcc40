// Package patch holds values of requests that change a row, where a value that
// is left out differs from one that is null.
//
// Allowed imports: the standard library.
package patch
