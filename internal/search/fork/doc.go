// Package fork lets one search use more than one processor. It imports nothing
// of Magpie.
package fork
