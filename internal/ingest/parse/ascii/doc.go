// Package ascii classifies ASCII bytes.
//
// The package imports nothing.
package ascii
