// Package safetext makes text from outside fit to be stored, shown on one line,
// or kept within a length. It is a leaf: it imports the standard library alone.
package safetext
