// Package safetext makes text from outside fit to be stored, shown on one line,
// kept within a length, or quoted in a prompt. It is a leaf: it imports the
// standard library alone.
package safetext
