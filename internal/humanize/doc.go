// Package humanize formats numbers, sizes and durations for people.
//
// Allowed imports: the standard library.
package humanize
