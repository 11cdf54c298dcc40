// Package fresh keeps what was read from the database in memory for a moment,
// so that what many requests a second need is read about once a second. How old
// an answer may be is bounded, which is what makes a change on one node bind on
// all others in time without telling them.
//
// Allowed imports: the standard library.
package fresh
