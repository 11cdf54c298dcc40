// Package ttlcache keeps values in memory for a short, guaranteed time, so that a
// row that many requests need is read about once a second. The maximum age is what
// makes a change on one node take effect on all others without messages.
//
// Allowed imports: the standard library.
package ttlcache
