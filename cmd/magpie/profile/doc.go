// Package profile keeps the Magpies that a person has logged in to on this machine:
// their addresses and tokens, in a file that only the person can read.
//
// Allowed imports: the standard library.
package profile
