// Package compress compresses responses that are served often, and tells whether
// a request accepts them so (RFC 9110, section 12.5.3).
//
// Allowed imports: none of Magpie's.
package compress
