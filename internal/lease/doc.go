// Package lease keeps the claim of a process on a piece of work while it does the work,
// so that a claim can be short: when a process dies, another one has the work soon.
//
// Allowed imports: none of Magpie's.
package lease
