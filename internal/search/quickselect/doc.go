// Package quickselect finds the best of a list without ordering it. It imports
// nothing of Magpie.
package quickselect
